//! What became of each registry.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::parts::near_limit;

const MAX_SECONDS: f64 = 90.0;
const MAX_RSS_MIB: f64 = 64.0;

pub(super) struct AttemptResult {
    pub(super) name: &'static str,
    /// With which it was refused. Empty if it was not.
    pub(super) reason: String,
    /// What is wrong. Empty if nothing is.
    pub(super) problem: String,
    /// From its creation until the reason could be read, without the time in which the machine stood still.
    pub(super) seconds: f64,
    pub(super) worker_mib: f64,
    pub(super) programs_mib: f64,
    pub(super) in_ci: bool,
}

impl AttemptResult {
    const fn is_refused(&self) -> bool {
        self.problem.is_empty()
    }

    fn rss_mib(&self) -> f64 {
        self.worker_mib + self.programs_mib
    }

    fn json(&self) -> Value {
        let mut object = json!({
            "name": self.name,
            "refused": self.is_refused(),
            "reason": self.reason,
            "seconds": rounded(self.seconds),
            "rssMib": rounded(self.rss_mib()),
            "workerMib": rounded(self.worker_mib),
            "programsMib": rounded(self.programs_mib),
            "inCi": self.in_ci,
        });
        if !self.is_refused() {
            object["problem"] = json!(self.problem);
        }
        object
    }
}

impl fmt::Display for AttemptResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mark, text) =
            if self.is_refused() { ("ok", &self.reason) } else { ("NOT REFUSED", &self.problem) };
        let (name, seconds) = (self.name, self.seconds);
        write!(f, "{mark} {name}: {seconds:.1} s, {:.1} MiB, {text}", self.rss_mib())
    }
}

#[derive(Default)]
pub(super) struct Report {
    pub(super) results: Vec<AttemptResult>,
}

impl Report {
    fn max(&self, figure: impl Fn(&AttemptResult) -> f64) -> f64 {
        self.results.iter().map(figure).fold(0.0, f64::max)
    }

    fn refused(&self) -> usize {
        self.results.iter().filter(|result| result.is_refused()).count()
    }

    fn max_seconds(&self) -> f64 {
        self.max(|result| result.seconds)
    }

    fn max_rss_mib(&self) -> f64 {
        self.max(AttemptResult::rss_mib)
    }

    /// Returns which registries came close to a limit.
    fn warning(&self) -> Option<String> {
        let figures = self.results.iter().flat_map(|result| {
            [(result.name, result.seconds, MAX_SECONDS), (result.name, result.rss_mib(), MAX_RSS_MIB)]
        });
        near_limit::warning(&figures.collect::<Vec<_>>())
    }

    /// 1 if a registry was not refused, or took too long or too much memory.
    pub(super) fn exit_code(&self) -> ExitCode {
        let is_bounded = self.max_seconds() <= MAX_SECONDS && self.max_rss_mib() <= MAX_RSS_MIB;
        if self.refused() == self.results.len() && !self.results.is_empty() && is_bounded {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    pub(super) fn print(&self, as_json: bool) -> std::io::Result<()> {
        let report = json!({
            "cases": self.results.len(),
            "refused": self.refused(),
            "maxSeconds": rounded(self.max_seconds()),
            "maxRssMib": rounded(self.max_rss_mib()),
            "warning": self.warning(),
            "results": self.results.iter().map(AttemptResult::json).collect::<Vec<_>>(),
        });
        let mut out = std::io::stdout();
        if as_json { writeln!(out, "{report}") } else { writeln!(out, "{report:#}") }
    }
}

fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(seconds: f64, programs_mib: f64) -> Report {
        let result = AttemptResult {
            name: "bomb",
            reason: "too large".to_owned(),
            problem: String::new(),
            seconds,
            worker_mib: 1.0,
            programs_mib,
            in_ci: true,
        };
        Report { results: vec![result] }
    }

    #[test]
    fn a_registry_that_comes_close_to_a_limit_is_named() {
        assert_eq!(report(3.0, 59.0).warning(), None);
        assert_eq!(report(3.0, 61.7).warning().unwrap(), "bomb 62.7 is 98.0 % of its limit 64");
        assert_eq!(report(86.0, 5.0).warning().unwrap(), "bomb 86.0 is 95.6 % of its limit 90");
    }
}
