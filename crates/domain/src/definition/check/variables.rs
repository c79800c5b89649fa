//! The environment of a step: variables, secrets and id tokens.

use std::collections::BTreeMap;

use super::Check;
use super::fields::VALUE;
use crate::definition::diagnostic::{Path, quote};
use crate::definition::limits;
use crate::definition::located::{Entries, Located};
use crate::definition::model::StepSecret;
use crate::definition::name_rules::{self, AUDIENCE_RULE};
use crate::definition::raw;

impl Check<'_> {
    pub(super) fn variables(
        &mut self,
        path: Path<'_>,
        variables: Option<&raw::Variables>,
    ) -> BTreeMap<String, String> {
        self.entries(path, variables, limits::ENTRIES, |check, path, value| {
            check.report.checked_text(path, value.at, &value.value.0, VALUE)
        })
    }

    pub(super) fn secrets(
        &mut self,
        path: Path<'_>,
        secrets: Option<&Entries<raw::SecretReference>>,
        variables: Option<&raw::Variables>,
    ) -> BTreeMap<String, StepSecret> {
        for (key, _) in secrets.into_iter().flat_map(Entries::iter) {
            if variables.is_some_and(|variables| variables.get(&key.value).is_some()) {
                let message = format!("{} is a variable of this step already", quote(&key.value));
                self.report.error(key.at, path.key(&key.value), message);
            }
        }
        self.entries(path, secrets, limits::ENTRIES, Self::secret)
    }

    pub(super) fn id_tokens(&mut self, path: Path<'_>, step: &raw::Step) -> BTreeMap<String, String> {
        for (key, _) in step.id_tokens.iter().flat_map(Entries::iter) {
            let is_variable =
                step.variables.as_ref().is_some_and(|variables| variables.get(&key.value).is_some());
            let is_secret = step.secrets.as_ref().is_some_and(|secrets| secrets.get(&key.value).is_some());
            if is_variable || is_secret {
                let kind = if is_variable { "variable" } else { "secret" };
                let message = format!("{} is a {kind} of this step already", quote(&key.value));
                self.report.error(key.at, path.key(&key.value), message);
            }
        }
        self.entries(path, step.id_tokens.as_ref(), limits::ID_TOKENS, |check, path, audience| {
            if !name_rules::is_audience(&audience.value) {
                let message = format!("{} is not a valid audience: {AUDIENCE_RULE}", quote(&audience.value));
                check.report.error(audience.at, path, message);
            }
            audience.value.clone()
        })
    }

    fn secret(&mut self, path: Path<'_>, reference: &Located<raw::SecretReference>) -> StepSecret {
        let Located { value, at, bytes } = reference;
        match value {
            raw::SecretReference::Name(name) => {
                let name = Located { value: name.clone(), at: *at, bytes: bytes.clone() };
                StepSecret { name: self.name(path, &name, "secret name"), is_file: false }
            }
            raw::SecretReference::Map(map) => {
                let name = match &map.secret {
                    Some(name) => self.name(path.key("secret"), name, "secret name"),
                    None => {
                        self.report.error(*at, path.key("secret"), "a secret needs its name: `secret`");
                        String::new()
                    }
                };
                let is_file =
                    map.file.as_ref().is_some_and(|file| self.report.is_true(path.key("file"), file));
                StepSecret { name, is_file }
            }
            raw::SecretReference::Other => {
                let message = format!(
                    "{} must be the name of a secret, or a map with `secret` and `file`",
                    path.subject()
                );
                self.report.error(*at, path, message);
                StepSecret { name: String::new(), is_file: false }
            }
        }
    }

    fn entries<V, T>(
        &mut self,
        path: Path<'_>,
        entries: Option<&Entries<V>>,
        max: usize,
        value: impl Fn(&mut Self, Path<'_>, &Located<V>) -> T,
    ) -> BTreeMap<String, T> {
        let Some(entries) = entries.filter(|entries| self.map_fits(path, entries, max)) else {
            return BTreeMap::new();
        };
        let pairs = entries.iter().map(|(key, entry)| {
            let path = path.key(&key.value);
            self.report.variable_name(path, key);
            (key.value.clone(), value(self, path, entry))
        });
        pairs.collect()
    }
}
