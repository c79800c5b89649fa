//! Replaces placeholders in the texts of a scenario with values of the run: `{commit main}`, `{short main}`,
//! `{id d1}`, `{file sum}`, `{bytes}`, `{host private}`, `{password private}`, `{in 60}`.

use anyhow::{Context, bail};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::parts::registry::PASSWORD;
use crate::scenarios::fixture::ScenarioFixture;

impl ScenarioFixture<'_> {
    /// Replaces the placeholders in every text of a JSON value.
    pub(super) fn filled(&self, value: &Value) -> anyhow::Result<Value> {
        Ok(match value {
            Value::String(text) => Value::String(self.fill(text)?),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.filled(item)).collect::<Result<_, _>>()?)
            }
            Value::Object(keys) => {
                let fill = |(key, value): (&String, &Value)| Ok((key.clone(), self.filled(value)?));
                Value::Object(keys.iter().map(fill).collect::<anyhow::Result<_>>()?)
            }
            other => other.clone(),
        })
    }

    pub(super) fn fill(&self, text: &str) -> anyhow::Result<String> {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            let (placeholder, behind) =
                after.split_once('}').with_context(|| format!("`{text}` has no `}}`"))?;
            filled.push_str(before);
            filled.push_str(&self.placeholder_value(placeholder)?);
            rest = behind;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn placeholder_value(&self, placeholder: &str) -> anyhow::Result<String> {
        match placeholder.split_once(' ').unwrap_or((placeholder, "")) {
            ("commit", name) => self.named_commit(name),
            ("short", name) => Ok(self.named_commit(name)?.chars().take(9).collect()),
            ("id", name) => Ok(self.named(name)?.id().to_owned()),
            ("file", name) => Ok(self.stage_folder.text(name)?.trim().to_owned()),
            ("bytes", "") => Ok(self.parts.log_bytes.to_string()),
            ("host", "registry") => Ok(self.parts.registry()?.host.clone()),
            ("password", "registry") => Ok(PASSWORD.to_owned()),
            ("host", name) => match self.parts.listeners.host(name) {
                Some(host) => Ok(host),
                None => Ok(self.private_git()?.server(name)?.host().to_owned()),
            },
            ("password", name) => self.private_git()?.password(name),
            ("in", seconds) => {
                let seconds = seconds.parse().with_context(|| format!("`{{{placeholder}}}`"))?;
                Ok(time_in(SignedDuration::from_secs(seconds)).to_string())
            }
            ("network", "") => Ok(self.parts.api.address().to_owned()),
            _ => bail!("unknown placeholder `{{{placeholder}}}`"),
        }
    }

    fn named_commit(&self, name: &str) -> anyhow::Result<String> {
        match self.private_git.as_ref().and_then(|git| git.commit(name)) {
            Some(id) => Ok(id),
            None => self.parts.repository.commit(name),
        }
    }

    /// Returns the commit id for the API. `name` is a named commit of the repository, or an id already.
    pub(super) fn commit(&self, name: &str) -> anyhow::Result<String> {
        if name.contains('{') {
            return self.fill(name);
        }
        let is_id = name.len() >= 7 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_id { Ok(name.to_owned()) } else { self.named_commit(name) }
    }
}

#[expect(clippy::disallowed_methods, reason = "PostgreSQL runs on this machine, by this very clock")]
fn time_in(duration: SignedDuration) -> Timestamp {
    Timestamp::now() + duration
}
