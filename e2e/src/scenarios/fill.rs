//! Puts what is known only when a scenario runs into its texts: `{commit main}`, `{short main}`, `{id d1}`, `{file sum}`, `{bytes}`.

use anyhow::{Context, bail};
use serde_json::Value;

use crate::scenarios::world::World;

impl World<'_> {
    /// The same, in every text of it.
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
            let (words, behind) = after.split_once('}').with_context(|| format!("`{text}` has no `}}`"))?;
            filled.push_str(before);
            filled.push_str(&self.known(words)?);
            rest = behind;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn known(&self, words: &str) -> anyhow::Result<String> {
        match words.split_once(' ').unwrap_or((words, "")) {
            ("commit", name) => self.parts.repository.commit(name),
            ("short", name) => Ok(self.parts.repository.commit(name)?.chars().take(9).collect()),
            ("id", name) => Ok(self.named(name)?.id().to_owned()),
            ("file", name) => Ok(self.stage_folder.text(name)?.trim().to_owned()),
            ("bytes", "") => Ok(self.parts.log_bytes.to_string()),
            ("network", "") => Ok(self.parts.api.address().to_owned()),
            _ => bail!("nobody knows what `{{{words}}}` is"),
        }
    }

    /// What a scenario calls a commit, as the API is told it: a name of the repository, or an id as it is.
    pub(super) fn commit(&self, word: &str) -> anyhow::Result<String> {
        if word.contains('{') {
            return self.fill(word);
        }
        let is_id = word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_id { Ok(word.to_owned()) } else { self.parts.repository.commit(word) }
    }
}
