//! From the file as written to the checked definition. Every check adds what it finds to the report and goes on with
//! what it has: nothing of that is seen unless the report stays empty.

mod approval;
mod environments;
mod ephemeral;
mod fields;
mod kept;
mod needs;
mod stages;
mod steps;
mod variables;

use std::collections::HashSet;

use super::diagnostic::{Diagnostic, Path, Report};
use super::limits;
use super::located::{Entries, Position};
use super::model::Definition;
use super::raw;

/// What every check may look at: the file as written, and the report.
struct Check<'a> {
    report: Report,
    file: &'a raw::File,
    /// The stages that any environment cleans up with: they are no part of an ordinary deployment.
    cleaning: &'a HashSet<&'a str>,
    source: &'a str,
    /// What the conditions so far have left of the bytes for all of them.
    condition_bytes_left: usize,
}

pub(super) fn check(file: &raw::File, source: &str) -> Result<Definition, Vec<Diagnostic>> {
    let cleaning = ephemeral::cleaning_stages(file);
    let mut check = Check {
        report: Report::default(),
        file,
        cleaning: &cleaning,
        source,
        condition_bytes_left: limits::CONDITIONS_BYTES,
    };
    let definition = check.definition();
    check.report.finish(definition)
}

impl Check<'_> {
    fn definition(&mut self) -> Definition {
        let file = self.file;
        let root = Path::Root;
        if let Some(version) = file.version.as_ref().filter(|version| version.value != 1) {
            let message = format!("`version` must be 1, not {}", version.value);
            self.report.say(version.at, root.key("version"), message);
        }
        let concurrency = file.concurrency.as_ref();
        let (ephemeral_environments, environment_templates) = self.ephemeral_environments();
        Definition {
            version: 1,
            variables: self.variables(root.key("variables"), file.variables.as_ref()),
            runner: file.runner.as_ref().map(|runner| self.runner(root.key("runner"), runner)),
            concurrency: concurrency.map(|n| self.number(root.key("concurrency"), n, limits::CONCURRENCY)),
            environments: self.environments(),
            ephemeral_environments,
            environment_templates,
            stages: self.stages(),
        }
    }

    /// Whether a map or list keeps to its limit. If not, its owner leaves it unread: the work stays bounded.
    fn fits(&mut self, at: Position, path: Path<'_>, count: usize, most: usize) -> bool {
        let fits = count <= most;
        if !fits {
            let message = format!("{} has {count} entries; {most} is the most", path.subject());
            self.report.say(at, path, message);
        }
        fits
    }

    /// The same for a map, at its first key that is too many.
    fn map_fits<V>(&mut self, path: Path<'_>, map: &Entries<V>, most: usize) -> bool {
        let at = map.iter().nth(most).map_or(Position::START, |(key, _)| key.at);
        self.fits(at, path, map.len(), most)
    }
}
