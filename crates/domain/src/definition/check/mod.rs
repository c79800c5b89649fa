//! Converts the raw file to the checked definition. Every check adds its problems to the report and continues
//! with any value: the definition is only returned if the report stays empty.

mod approval;
mod environments;
mod ephemeral;
mod fields;
mod fix;
mod kept;
mod needs;
mod stages;
mod steps;
mod variables;

use std::collections::HashSet;

use super::diagnostic::{Diagnostic, Path, Report};
use super::limits;
use super::located::{Entries, Position};
use super::model::{Definition, LockedSteps};
use super::raw;

/// The state of all checks: the raw file and the report.
struct Check<'a> {
    report: Report,
    file: &'a raw::File,
    /// The stages that clean up after sessions of any environment. They are not part of an ordinary
    /// deployment.
    cleaning: &'a HashSet<&'a str>,
    source: &'a str,
    /// The different steps of registries that are used.
    references: HashSet<String>,
    /// How many bytes are left for the remaining conditions.
    condition_bytes_left: usize,
}

pub(super) fn check(file: &raw::File, source: &str) -> Result<Definition, Vec<Diagnostic>> {
    let cleaning = ephemeral::cleaning_stages(file);
    let mut check = Check {
        report: Report::default(),
        file,
        cleaning: &cleaning,
        source,
        references: HashSet::new(),
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
            self.report.error(version.at, root.key("version"), message);
        }
        let concurrency = file.concurrency.as_ref();
        let (ephemeral_environments, environment_templates) = self.ephemeral_environments();
        let fix = file.fix.as_ref().map(|fix| self.fix(root.key("fix"), fix, &ephemeral_environments));
        Definition {
            version: 1,
            variables: self.variables(root.key("variables"), file.variables.as_ref()),
            runner: file.runner.as_ref().map(|runner| self.runner(root.key("runner"), runner)),
            concurrency: concurrency.map(|n| self.number(root.key("concurrency"), n, limits::CONCURRENCY)),
            environments: self.environments(),
            ephemeral_environments,
            environment_templates,
            fix,
            stages: self.stages(),
            locked_steps: LockedSteps::new(),
        }
    }

    fn fits(&mut self, at: Position, path: Path<'_>, count: usize, max: usize) -> bool {
        self.report.fits(at, path, count, max)
    }

    fn map_fits<V>(&mut self, path: Path<'_>, map: &Entries<V>, max: usize) -> bool {
        self.report.map_fits(path, map, max)
    }
}
