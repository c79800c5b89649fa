//! The kept logs of a case: what it printed itself, without the noise, and how it ended.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// The runs of a case.
pub(crate) const RUNS: [&str; 5] = ["good-1", "good-2", "good-3", "bad-1", "bad-2"];
/// The harness prints these lines around the output of a case. The first one ends with the container's host name.
const BEGIN: &str = "--- corpus: begin ";
const END: &str = "--- corpus: end";

/// How a failed step ended.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepEnd {
    pub(crate) exit_code: Option<i32>,
    /// The code of the attempt's reason.
    pub(crate) reason: Option<String>,
    /// The reason of the step in words.
    pub(crate) detail: Option<String>,
}

pub(crate) fn is_good(run: &str) -> bool {
    run.starts_with("good")
}

pub(crate) fn folder(corpus: &Path, case: &str) -> PathBuf {
    corpus.join("logs").join(case)
}

pub(crate) fn read(corpus: &Path, case: &str, run: &str) -> anyhow::Result<String> {
    let path = folder(corpus, case).join(format!("{run}.log"));
    std::fs::read_to_string(&path).with_context(|| {
        format!("{} is missing; `cargo xtask corpus run --only {case}` makes it", path.display())
    })
}

pub(crate) fn read_end(corpus: &Path, case: &str) -> anyhow::Result<StepEnd> {
    let path = folder(corpus, case).join("end.json");
    let text = std::fs::read_to_string(&path).with_context(|| format!("{} is missing", path.display()))?;
    Ok(serde_json::from_str(&text)?)
}

/// Returns the case's own output in the log of its step, without what identifies the machine.
pub(crate) fn own_output(log: &str) -> anyhow::Result<String> {
    let start = log.find(BEGIN).context("the log has no begin mark")?;
    let rest = log.get(start + BEGIN.len()..).unwrap_or_default();
    let (host, output) = rest.split_once('\n').context("the begin mark is the log's last line")?;
    let output = output.split_once(END).map_or(output, |(output, _)| output);
    Ok(if host.is_empty() { output.to_owned() } else { output.replace(host, "builder") })
}

#[cfg(test)]
mod tests {
    use super::own_output;

    #[test]
    fn only_what_is_between_the_marks_is_kept() {
        let log = "noise\n--- corpus: begin 3f2a\nfirst on 3f2a\n--- corpus: end\nnoise\n";
        assert_eq!(own_output(log).unwrap(), "first on builder\n");
    }

    #[test]
    fn a_failed_case_has_no_end_mark() {
        assert_eq!(own_output("--- corpus: begin h\nlast").unwrap(), "last");
        assert!(own_output("last").is_err());
    }
}
