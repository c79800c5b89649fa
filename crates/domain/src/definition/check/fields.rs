//! Single values: names, text, numbers, durations, roles, and references to something else in the file.

use std::collections::HashSet;

use super::Check;
use crate::definition::diagnostic::{Diagnostic, Path, quote};
use crate::definition::located::Located;
use crate::definition::model::Runner;
pub(super) use crate::definition::values::{LINE, PARAGRAPH, PATH, SCRIPT, TextRule, VALUE};
use crate::definition::{duration, raw, url};
use crate::role::Role;

impl Check<'_> {
    pub(super) fn text(&mut self, path: Path<'_>, text: &Located<String>, rule: TextRule) -> String {
        self.report.text(path, text, rule)
    }

    /// `what` is the kind of name for the message.
    pub(super) fn name(&mut self, path: Path<'_>, name: &Located<String>, what: &str) -> String {
        self.report.name(path, name, what)
    }

    /// Checks a number from 1 to `max`.
    pub(super) fn number(&mut self, path: Path<'_>, number: &Located<u64>, max: u64) -> u32 {
        if number.value == 0 || number.value > max {
            let message = format!("{} must be from 1 to {max}, not {}", path.subject(), number.value);
            self.report.error(number.at, path, message);
        }
        u32::try_from(number.value).unwrap_or(u32::MAX)
    }

    pub(super) fn duration(&mut self, path: Path<'_>, text: &Located<String>, max: u64) -> u64 {
        let seconds = duration::seconds(&text.value);
        let problem = match seconds {
            None => Some(format!("{} is not a duration; write `90s`, `10m` or `1h 30m`", quote(&text.value))),
            Some(0) => Some(format!("{} must be longer than nothing", path.subject())),
            Some(seconds) if seconds > max => {
                Some(format!("{} must be {} at most", path.subject(), duration::written(max)))
            }
            Some(_) => None,
        };
        if let Some(problem) = problem {
            self.report.error(text.at, path, problem);
        }
        seconds.unwrap_or_default()
    }

    pub(super) fn url(&mut self, path: Path<'_>, address: &Located<String>) -> String {
        if let Some(problem) = url::problem(&address.value) {
            self.report.error(address.at, path, format!("{} {problem}", path.subject()));
        }
        address.value.clone()
    }

    /// Checks a role, which can't be `viewer`: viewers only read.
    pub(super) fn role(&mut self, path: Path<'_>, name: &Located<String>) -> Option<Role> {
        let role = name.value.parse().ok().filter(|role| *role > Role::Viewer);
        if role.is_none() {
            self.report.add(|| {
                let message = format!("{} is not a role that may act here", quote(&name.value));
                let roles = Role::ALL.iter().filter(|role| **role > Role::Viewer).map(|role| role.as_str());
                Diagnostic::new(name.at, path.pointer(), message).choices(&name.value, roles)
            });
        }
        role
    }

    pub(super) fn runner(&mut self, path: Path<'_>, runner: &Located<raw::Runner>) -> Runner {
        let path = path.key("pool");
        match &runner.value.pool {
            Some(pool) => Runner { pool: self.name(path, pool, "pool name") },
            None => {
                self.report.error(runner.at, path, "a runner needs a `pool`");
                Runner { pool: String::new() }
            }
        }
    }

    /// Reports duplicates in a list.
    pub(super) fn unique(&mut self, path: Path<'_>, list: &[Located<String>]) {
        let mut seen = HashSet::new();
        for (index, item) in list.iter().enumerate() {
            if !seen.insert(item.value.as_str()) {
                let message = format!("{} is listed twice in {}", quote(&item.value), path.subject());
                self.report.error(item.at, path.index(index), message);
            }
        }
    }

    /// Checks a list of stages, each of which has to exist and be listed once. `who` is the start of the
    /// message, up to the name; `fits` returns which stages to suggest instead.
    pub(super) fn stage_list(
        &mut self,
        path: Path<'_>,
        list: &[Located<String>],
        who: &str,
        fits: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        self.unique(path, list);
        let stages = self.file.stages.as_ref();
        for (index, name) in list.iter().enumerate() {
            if stages.is_some_and(|stages| stages.get(&name.value).is_some()) {
                continue;
            }
            self.report.add(|| {
                let message = format!("{who} {}, which doesn't exist", quote(&name.value));
                let keys = stages.into_iter().flat_map(|stages| stages.keys()).filter(|key| fits(key));
                Diagnostic::new(name.at, path.index(index).pointer(), message).choices(&name.value, keys)
            });
        }
        list.iter().map(|item| item.value.clone()).collect()
    }
}
