//! A scenario's folder: `pipeline.yaml`, `expect.json`, and other definitions that it names.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::scenarios::script::Script;

#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    /// The folder's name, for example `01-straight`.
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) script: Script,
}

impl Scenario {
    fn read(folder: PathBuf) -> anyhow::Result<Self> {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let file = folder.join("expect.json");
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("{} can't be read", file.display()))?;
        let script = Script::read(&text).with_context(|| format!("{} is wrong", file.display()))?;
        Ok(Self { name, folder, script })
    }

    /// Returns the text of one of the scenario's definitions.
    pub(crate) fn definition(&self, file: &str) -> anyhow::Result<String> {
        let path = self.folder.join(file);
        std::fs::read_to_string(&path).with_context(|| format!("{} can't be read", path.display()))
    }
}

/// Returns all scenarios, sorted by name.
pub(crate) fn read_all(folder: &Path) -> anyhow::Result<Vec<Scenario>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("{} can't be read", folder.display()))?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders.into_iter().map(Scenario::read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_can_be_read() {
        let all = read_all(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios"))).unwrap();
        assert!(all.len() >= 20, "{}", all.len());
        for scenario in &all {
            assert!(scenario.definition("pipeline.yaml").is_ok(), "{}", scenario.name);
            assert!(!scenario.script.steps.is_empty(), "{}", scenario.name);
        }
    }
}
