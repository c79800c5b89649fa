//! Reads openapi/breaking.md, which names the breaks that were decided, each with its reason.

use anyhow::ensure;

pub(super) const FILE: &str = "openapi/breaking.md";

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) reason: String,
}

/// Returns the entries: the list items that begin with a key in backticks.
pub(super) fn parse(text: &str) -> anyhow::Result<Vec<Entry>> {
    let items = text.lines().filter_map(|line| line.strip_prefix("- `")?.split_once('`'));
    let entries = items.map(|(key, rest)| {
        let reason = rest.trim_start_matches(':').trim();
        ensure!(!reason.is_empty(), "{FILE}: the entry for `{key}` has no reason on its first line");
        Ok(Entry { key: key.to_owned(), reason: reason.to_owned() })
    });
    entries.collect()
}

impl Entry {
    /// Returns whether the entry names a break: word by word, where `*` is any word and `**/x` any word that ends in `/x`.
    pub(super) fn names(&self, key: &str) -> bool {
        let (own, words) = (self.key.split(' '), key.split(' '));
        let is_equal = |(own, word): (&str, &str)| {
            own == "*" || own == word || own.strip_prefix("**").is_some_and(|end| word.ends_with(end))
        };
        own.clone().count() == words.clone().count() && own.zip(words).all(is_equal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_key_and_a_reason() {
        let text = "# Title\n\n- an item\n- `GET /a removed`: never worked,\n  and more\n- `GET /b removed` was not used\n";
        let entries = parse(text).unwrap();
        let pairs: Vec<_> = entries.iter().map(|entry| (entry.key.as_str(), entry.reason.as_str())).collect();
        assert_eq!(pairs, [("GET /a removed", "never worked,"), ("GET /b removed", "was not used")]);
        let error = parse("- `GET /a removed`:\n").unwrap_err();
        assert!(error.to_string().contains("`GET /a removed` has no reason"), "{error}");
    }

    #[test]
    fn an_entry_names_one_break_or_those_of_a_pattern() {
        let names = |own: &str, key: &str| Entry { key: own.to_owned(), reason: String::new() }.names(key);
        let key = "GET /a response 200 /data/*/createdBy/name removed";
        assert!(names(key, key));
        assert!(names("* * response * **/createdBy/name removed", key));
        assert!(!names("* * response * **/updatedBy/name removed", key));
        assert!(!names("* * response * /createdBy/name removed", key));
        assert!(!names("* * response * removed", key));
        assert!(!names("GET /a response 200 /data/*/createdBy/name became optional", key));
    }
}
