//! Lasting environments, and conflicts between the names of all environments.

use super::Check;
use crate::definition::diagnostic::{Diagnostic, Path, quote};
use crate::definition::limits;
use crate::definition::located::{Entries, Located, Position};
use crate::definition::model::{DeployRule, Environment};
use crate::definition::name_rules::{self, NAME_RULE};
use crate::definition::raw;
use crate::definition::url::NAME_PLACEHOLDER;
use crate::slug::{InvalidSlug, Slug};
use crate::text::Branch;

impl Check<'_> {
    pub(super) fn environments(&mut self) -> Vec<Environment> {
        let root = Path::Root;
        let path = root.key("environments");
        let Some(environments) = &self.file.environments else { return Vec::new() };
        if !self.map_fits(path, environments, limits::ENVIRONMENTS) {
            return Vec::new();
        }
        let checked = environments.iter().map(|(key, environment)| {
            let path = path.key(&key.value);
            let environment = &environment.value;
            let url = environment.url.as_ref().map(|url| self.url(path.key("url"), url));
            Environment {
                name: self.environment_name(path, key),
                url: url.map(|url| url.replace(NAME_PLACEHOLDER, &key.value)),
                branches: self.branches(path.key("branches"), environment.branches.as_ref()),
                approval: environment.approval.as_ref().map(|rule| self.approval(path.key("approval"), rule)),
                deploy: environment.deploy.as_ref().map(|rule| self.deploy_rule(path.key("deploy"), rule)),
                variables: self.variables(path.key("variables"), environment.variables.as_ref()),
            }
        });
        checked.collect()
    }

    fn branches(&mut self, path: Path<'_>, branches: Option<&Located<Vec<Located<String>>>>) -> Vec<String> {
        let Some(branches) = branches else { return Vec::new() };
        if branches.value.is_empty() {
            // An empty list reads like "no branch", but would mean "any branch".
            self.report.error(branches.at, path, "must name at least one branch; leave it out to allow any");
        }
        if !self.fits(branches.at, path, branches.value.len(), limits::BRANCHES) {
            return Vec::new();
        }
        self.unique(path, &branches.value);
        for (index, branch) in branches.value.iter().enumerate() {
            if let Err(error) = Branch::new(&branch.value) {
                let message = format!("{} is not a branch: it {error}", quote(&branch.value));
                self.report.error(branch.at, path.index(index), message);
            }
        }
        branches.value.iter().map(|branch| branch.value.clone()).collect()
    }

    fn deploy_rule(&mut self, path: Path<'_>, deploy: &Located<raw::Deploy>) -> DeployRule {
        let groups = deploy.value.groups.as_deref().unwrap_or_default();
        let roles = deploy.value.roles.as_deref().unwrap_or_default();
        if groups.is_empty() && roles.is_empty() {
            // An empty rule reads like "no user", and could be mistaken for "every user".
            let message =
                "must name at least one of `groups` or `roles`; leave it out to let everyone deploy";
            self.report.error(deploy.at, path, message);
        }
        DeployRule {
            groups: self.approving_groups(path.key("groups"), groups),
            roles: self.approving_roles(path.key("roles"), roles),
        }
    }

    pub(super) fn environment_name(&mut self, path: Path<'_>, name: &Located<String>) -> String {
        match name.value.parse::<Slug>() {
            Ok(_) if name.value != limits::NO_ENVIRONMENT => {}
            Ok(_) | Err(InvalidSlug::Reserved) => {
                let message =
                    format!("{} is reserved and can't be an environment's name", quote(&name.value));
                self.report.error(name.at, path, message);
            }
            Err(InvalidSlug::Shape) => self.report.add(|| {
                let message = format!("{} is not a valid environment name: {NAME_RULE}", quote(&name.value));
                let meant = Slug::from_name(&name.value).map(|slug| slug.to_string());
                Diagnostic::new(name.at, path.pointer(), message).suggest(meant)
            }),
        }
        name.value.clone()
    }

    /// Reports if there are too many environments, and ephemeral ones whose name overlaps with another.
    /// Returns false if there are too many.
    pub(super) fn check_names<V>(&mut self, path: Path<'_>, ephemeral: &Entries<V>) -> bool {
        let lasting = self.file.environments.as_ref();
        let lasting_count = lasting.map_or(0, Entries::len);
        let room = limits::ENVIRONMENTS.saturating_sub(lasting_count);
        if ephemeral.len() > room {
            let at = ephemeral.iter().nth(room).map_or(Position::START, |(key, _)| key.at);
            let count = ephemeral.len() + lasting_count;
            let message =
                format!("there are {count} environments and templates; {} is the most", limits::ENVIRONMENTS);
            self.report.error(at, path, message);
            return false;
        }
        let keys =
            || ephemeral.keys().chain(lasting.into_iter().flat_map(|environments| environments.keys()));
        for (place, (key, _)) in ephemeral.iter().enumerate() {
            let written = key.value.as_str();
            // Of two ephemeral ones, only the later one is reported.
            let others = keys().enumerate().filter(|(other, _)| *other < place || *other >= ephemeral.len());
            if let Some((_, other)) = others.into_iter().find(|(_, other)| overlap(written, other)) {
                let message = if written == other {
                    format!("{} is the name of a lasting environment already", quote(written))
                } else {
                    let (one, two) = (quote(written), quote(other));
                    format!("{one} and {two} overlap: a name must belong to one environment or template")
                };
                self.report.error(key.at, path.key(written), message);
            }
        }
        true
    }
}

/// Returns whether there is a name that matches both.
fn overlap(one: &str, other: &str) -> bool {
    match (name_rules::template_prefix(one), name_rules::template_prefix(other)) {
        (None, None) => one == other,
        (Some(prefix), None) => other.len() > prefix.len() && other.starts_with(prefix),
        (None, Some(prefix)) => one.len() > prefix.len() && one.starts_with(prefix),
        (Some(one), Some(other)) => one.starts_with(other) || other.starts_with(one),
    }
}
