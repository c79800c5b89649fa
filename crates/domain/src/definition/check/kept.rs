//! Paths of a stage's workspace that are kept: artifacts for later stages, caches for later deployments.

use std::collections::HashSet;

use super::Check;
use super::fields::PATH;
use crate::definition::diagnostic::{Path, quote};
use crate::definition::located::{Located, Position};
use crate::definition::model::Cache;
use crate::definition::{limits, name_rules, raw};

impl Check<'_> {
    pub(super) fn caches(&mut self, path: Path<'_>, caches: &[Located<raw::Cache>]) -> Vec<Cache> {
        let at = caches.get(limits::CACHES).map_or(Position::START, |cache| cache.at);
        if !self.fits(at, path, caches.len(), limits::CACHES) {
            return Vec::new();
        }
        let mut seen = HashSet::new();
        for (index, cache) in caches.iter().enumerate() {
            if let Some(key) = &cache.value.key
                && !seen.insert(key.value.as_str())
            {
                let message = format!("{} is the key of two caches of this stage", quote(&key.value));
                self.report.error(key.at, path.index(index).key("key"), message);
            }
        }
        let checked = caches.iter().enumerate().map(|(index, cache)| self.cache(path.index(index), cache));
        checked.collect()
    }

    fn cache(&mut self, path: Path<'_>, cache: &Located<raw::Cache>) -> Cache {
        let raw::Cache { key, paths } = &cache.value;
        let paths = match paths.as_deref() {
            Some(paths) if !paths.is_empty() => {
                self.workspace_paths(path.key("paths"), paths, limits::CACHE_PATHS)
            }
            _ => {
                self.report.error(
                    cache.at,
                    path.key("paths"),
                    "a cache needs `paths`, with at least one path",
                );
                Vec::new()
            }
        };
        Cache { key: self.cache_key(path.key("key"), cache.at, key.as_ref()), paths }
    }

    fn cache_key(&mut self, path: Path<'_>, cache: Position, key: Option<&Located<String>>) -> String {
        let Some(key) = key else {
            self.report.error(cache, path, "a cache needs a `key`");
            return String::new();
        };
        if !name_rules::is_cache_key(&key.value) {
            let message = format!("{} is not a valid key: {}", quote(&key.value), name_rules::CACHE_KEY_RULE);
            self.report.error(key.at, path, message);
        }
        key.value.clone()
    }

    pub(super) fn workspace_paths(
        &mut self,
        path: Path<'_>,
        paths: &[Located<String>],
        max: usize,
    ) -> Vec<String> {
        let at = paths.get(max).map_or(Position::START, |written| written.at);
        if !self.fits(at, path, paths.len(), max) {
            return Vec::new();
        }
        self.unique(path, paths);
        let checked = paths.iter().enumerate();
        checked.map(|(index, written)| self.workspace_path(path.index(index), written)).collect()
    }

    /// Checks that a path does not lead out of the workspace.
    fn workspace_path(&mut self, path: Path<'_>, written: &Located<String>) -> String {
        let text = self.text(path, written, PATH);
        let leads_out = text.starts_with('/') || text.split('/').any(|part| part == "..");
        if leads_out {
            let message =
                format!("{} is not a path within the workspace; write `target/app` or `dist`", quote(&text));
            self.report.error(written.at, path, message);
        }
        text
    }
}
