//! Single values: names, text, numbers, durations, roles, and references to something else in the file.

use std::collections::HashSet;

use super::Check;
use crate::definition::diagnostic::{Diagnostic, Path, quote};
use crate::definition::located::{Located, Position};
use crate::definition::model::Runner;
use crate::definition::{duration, limits, raw, url, words};
use crate::role::Role;
use crate::slug::Slug;

/// What a text may be.
#[derive(Clone, Copy)]
pub(super) struct TextRule {
    most: usize,
    lines: bool,
    empty: bool,
}

/// What people call something.
pub(super) const LINE: TextRule = TextRule { most: limits::TEXT_BYTES, lines: false, empty: false };
pub(super) const PATH: TextRule = TextRule { most: limits::PATH_BYTES, lines: false, empty: false };
/// What people tell each other.
pub(super) const PARAGRAPH: TextRule = TextRule { most: limits::TEXT_BYTES, lines: true, empty: false };
pub(super) const VALUE: TextRule = TextRule { most: limits::TEXT_BYTES, lines: true, empty: true };
pub(super) const SCRIPT: TextRule = TextRule { most: limits::SCRIPT_BYTES, lines: true, empty: false };

impl Check<'_> {
    pub(super) fn text(&mut self, path: Path<'_>, text: &Located<String>, rule: TextRule) -> String {
        self.words(path, text.at, &text.value, rule)
    }

    pub(super) fn words(&mut self, path: Path<'_>, at: Position, text: &str, rule: TextRule) -> String {
        let problem = if text.len() > rule.most {
            Some(format!("is longer than {} bytes", rule.most))
        } else if !rule.empty && text.trim().is_empty() {
            Some("must not be empty".to_owned())
        } else if !rule.lines && text.trim_end().contains(['\n', '\r']) {
            Some("must be one line".to_owned())
        } else {
            let hidden = text.chars().find(|character| words::is_hidden(*character)).map(u32::from);
            hidden.map(|code| format!("holds the character U+{code:04X}, which would not show to a reader"))
        };
        if let Some(problem) = problem {
            self.report.say(at, path, format!("{} {problem}", path.subject()));
            // Nobody sees it, and it may be large.
            return String::new();
        }
        text.to_owned()
    }

    /// `what` is what it should be the name of.
    pub(super) fn name(&mut self, path: Path<'_>, name: &Located<String>, what: &str) -> String {
        if !words::is_name(&name.value) {
            self.report.add(|| {
                let message = format!("{} is not a valid {what}: {}", quote(&name.value), words::NAME_RULE);
                let meant = Slug::from_name(&name.value).map(|slug| slug.to_string());
                Diagnostic::new(name.at, path.pointer(), message).suggest(meant)
            });
        }
        name.value.clone()
    }

    /// A whole number from 1.
    pub(super) fn number(&mut self, path: Path<'_>, number: &Located<u64>, most: u64) -> u32 {
        if number.value == 0 || number.value > most {
            let message = format!("{} must be from 1 to {most}, not {}", path.subject(), number.value);
            self.report.say(number.at, path, message);
        }
        u32::try_from(number.value).unwrap_or(u32::MAX)
    }

    pub(super) fn duration(&mut self, path: Path<'_>, text: &Located<String>, longest: u64) -> u64 {
        let seconds = duration::seconds(&text.value);
        let problem = match seconds {
            None => Some(format!("{} is not a duration; write `90s`, `10m` or `1h 30m`", quote(&text.value))),
            Some(0) => Some(format!("{} must be longer than nothing", path.subject())),
            Some(seconds) if seconds > longest => {
                Some(format!("{} must be {} at most", path.subject(), duration::written(longest)))
            }
            Some(_) => None,
        };
        if let Some(problem) = problem {
            self.report.say(text.at, path, problem);
        }
        seconds.unwrap_or_default()
    }

    pub(super) fn url(&mut self, path: Path<'_>, address: &Located<String>) -> String {
        if let Some(problem) = url::problem(&address.value) {
            self.report.say(address.at, path, format!("{} {problem}", path.subject()));
        }
        address.value.clone()
    }

    /// A role that may act: a viewer only looks.
    pub(super) fn role(&mut self, path: Path<'_>, word: &Located<String>) -> Option<Role> {
        let role = word.value.parse().ok().filter(|role| *role > Role::Viewer);
        if role.is_none() {
            self.report.add(|| {
                let message = format!("{} is not a role that may act here", quote(&word.value));
                let roles = Role::ALL.into_iter().filter(|role| *role > Role::Viewer).map(Role::as_str);
                Diagnostic::new(word.at, path.pointer(), message).choices(&word.value, roles)
            });
        }
        role
    }

    pub(super) fn runner(&mut self, path: Path<'_>, runner: &Located<raw::Runner>) -> Runner {
        let path = path.key("pool");
        match &runner.value.pool {
            Some(pool) => Runner { pool: self.name(path, pool, "pool name") },
            None => {
                self.report.say(runner.at, path, "a runner needs a `pool`");
                Runner { pool: String::new() }
            }
        }
    }

    /// That a list names nothing twice.
    pub(super) fn unique(&mut self, path: Path<'_>, list: &[Located<String>]) {
        let mut seen = HashSet::new();
        for (index, item) in list.iter().enumerate() {
            if !seen.insert(item.value.as_str()) {
                let message = format!("{} is listed twice in {}", quote(&item.value), path.subject());
                self.report.say(item.at, path.index(index), message);
            }
        }
    }

    /// A list of stages, each of which exists and stands there once. `who` begins the sentence, up to the name;
    /// `fits` says which stages to offer instead.
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
