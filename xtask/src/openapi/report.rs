//! What `cargo xtask openapi --compare` prints.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

use serde_json::{Value, json};

use super::breaking::{self, Entry};
use super::changes::{Changes, Class};

pub(super) struct Report {
    revision: String,
    breaks: Vec<Break>,
    additions: BTreeSet<String>,
    /// The keys of entries for an earlier comparison.
    unused: Vec<String>,
}

struct Break {
    key: String,
    class: Class,
    /// `None` if no entry names it.
    reason: Option<String>,
}

impl Report {
    pub(super) fn new(revision: &str, changes: Changes, entries: &[Entry]) -> Self {
        let is_unused = |entry: &&Entry| !changes.breaks.keys().any(|key| entry.names(key));
        let unused = entries.iter().filter(is_unused).map(|entry| entry.key.clone()).collect();
        let breaks = changes.breaks.into_iter().map(|(key, class)| {
            let entry = entries.iter().find(|entry| entry.names(&key));
            Break { reason: entry.map(|entry| entry.reason.clone()), key, class }
        });
        let breaks = breaks.collect();
        Self { revision: revision.to_owned(), breaks, additions: changes.additions, unused }
    }

    /// Returns the number of breaks that no entry names.
    pub(super) fn unnamed(&self) -> usize {
        self.breaks.iter().filter(|one| one.reason.is_none()).count()
    }

    pub(super) fn json(&self) -> Value {
        let breaks = self.breaks.iter().map(
            |Break { key, class, reason }| json!({"key": key, "class": class.to_string(), "reason": reason}),
        );
        json!({
            "revision": self.revision,
            "breaks": breaks.collect::<Vec<_>>(),
            "unnamed": self.unnamed(),
            "additions": self.additions,
            "unusedEntries": self.unused,
        })
    }
}

/// The first line is a summary, which CI shows.
impl Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = match self.unnamed() {
            0 => "all named".to_owned(),
            unnamed => format!("{unnamed} not named"),
        };
        let (breaks, additions) = (self.breaks.len(), self.additions.len());
        write!(formatter, "{breaks} breaking changes, {named}; {additions} additions")?;
        write!(formatter, "\nsince {}; the breaks are named in {}", self.revision, breaking::FILE)?;
        for Break { key, class, reason } in &self.breaks {
            match reason {
                Some(reason) => write!(formatter, "\nnamed      {class}  {key}: {reason}")?,
                None => write!(formatter, "\nNOT NAMED  {class}  {key}")?,
            }
        }
        for key in &self.unused {
            write!(formatter, "\nunused     entry of an earlier comparison: {key}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut changes = Changes::default();
        changes.breaks_wire("GET /a removed".to_owned());
        changes.breaks_code("GET /b operationId b renamed to c".to_owned());
        changes.adds("GET /d added".to_owned());
        let entries =
            breaking::parse("- `GET /a removed`: never worked\n- `GET /old removed`: not used\n").unwrap();
        Report::new("v0.1.0", changes, &entries)
    }

    #[test]
    fn each_break_is_shown_with_its_reason_or_as_not_named() {
        let expected = "2 breaking changes, 1 not named; 1 additions\n\
                        since v0.1.0; the breaks are named in openapi/breaking.md\n\
                        named      wire  GET /a removed: never worked\n\
                        NOT NAMED  code  GET /b operationId b renamed to c\n\
                        unused     entry of an earlier comparison: GET /old removed";
        assert_eq!(report().to_string(), expected);
        assert_eq!(report().unnamed(), 1);
    }

    #[test]
    fn json_lists_the_additions_too() {
        let expected = json!({
            "revision": "v0.1.0",
            "breaks": [
                {"key": "GET /a removed", "class": "wire", "reason": "never worked"},
                {"key": "GET /b operationId b renamed to c", "class": "code", "reason": null},
            ],
            "unnamed": 1,
            "additions": ["GET /d added"],
            "unusedEntries": ["GET /old removed"],
        });
        assert_eq!(report().json(), expected);
    }
}
