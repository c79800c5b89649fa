//! A case: one file of `e2e/corpus/cases`, a shell script whose first lines describe what it shows.

use std::path::Path;

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};

/// One of this many cases is held out.
const HELD_OUT_SHARE: u8 = 3;
const DEFAULT_TIMEOUT: &str = "5m";

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// What fails: `compiler`, `database`, …
    pub(crate) kind: String,
    /// The category that the analysis has to find.
    pub(crate) category: String,
    /// A text that the decisive line contains.
    pub(crate) decisive: String,
    pub(crate) timeout: String,
    pub(crate) script: String,
}

impl Case {
    fn parse(name: &str, script: String) -> anyhow::Result<Self> {
        let field = |key: &str| {
            let header = script.lines().take_while(|line| line.starts_with("# "));
            let mut values = header.filter_map(|line| line.strip_prefix("# ")?.split_once(": "));
            values.find(|(found, _)| *found == key).map(|(_, value)| value.to_owned())
        };
        let required = |key: &str| field(key).with_context(|| format!("the case {name} has no `# {key}: …`"));
        let (kind, category, decisive) = (required("kind")?, required("category")?, required("decisive")?);
        let timeout = field("timeout").unwrap_or_else(|| DEFAULT_TIMEOUT.to_owned());
        Ok(Self { name: name.to_owned(), kind, category, decisive, timeout, script })
    }

    /// Held-out cases are not looked at when the analysis is changed. The name decides, so that they are not chosen by hand.
    pub(crate) fn is_held_out(&self) -> bool {
        Sha256::digest(&self.name).first().is_some_and(|byte| byte % HELD_OUT_SHARE == 0)
    }
}

/// Returns all cases, by name.
pub(crate) fn read_all(corpus: &Path) -> anyhow::Result<Vec<Case>> {
    let folder = corpus.join("cases");
    let entries = std::fs::read_dir(&folder).with_context(|| format!("{} is missing", folder.display()))?;
    let mut cases = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        if path.extension().is_some_and(|extension| extension == "sh") {
            cases.push(Case::parse(name, std::fs::read_to_string(&path)?)?);
        }
    }
    if cases.is_empty() {
        bail!("{} has no cases", folder.display());
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(cases)
}
