//! The output while scenarios run, and the final report.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::parts::output::print_progress;

pub(crate) struct Outcome {
    name: String,
    seconds: f64,
    end: End,
}

enum End {
    Passed,
    Failed(String),
    Pending(String),
}

impl Outcome {
    pub(crate) fn finished(name: &str, time: Duration, result: anyhow::Result<()>) -> Self {
        let end = match result {
            Ok(()) => End::Passed,
            Err(error) => End::Failed(format!("{error:#}")),
        };
        Self { name: name.to_owned(), seconds: time.as_secs_f64(), end }
    }

    pub(crate) fn pending(name: &str, why: String) -> Self {
        Self { name: name.to_owned(), seconds: 0.0, end: End::Pending(why) }
    }

    fn print(&self) {
        let Self { name, seconds, end } = self;
        match end {
            End::Passed => print_progress(&format!("passed   {name} ({seconds:.1} s)")),
            End::Failed(error) => {
                print_progress(&format!("FAILED   {name} ({seconds:.1} s)\n{}", indented(error)))
            }
            End::Pending(why) => print_progress(&format!("pending  {name}: {why}")),
        }
    }

    fn json(&self) -> Value {
        let (passed, error, pending) = match &self.end {
            End::Passed => (true, None, None),
            End::Failed(error) => (false, Some(error), None),
            End::Pending(why) => (false, None, Some(why)),
        };
        let mut result =
            json!({ "name": self.name, "passed": passed, "seconds": rounded(self.seconds), "error": error });
        if let Some(why) = pending {
            result["pending"] = json!(why);
        }
        result
    }
}

pub(crate) struct Report {
    began: Instant,
    outcomes: Vec<Outcome>,
}

impl Report {
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now(), outcomes: Vec::new() }
    }

    pub(crate) fn add(&mut self, outcome: Outcome) {
        outcome.print();
        self.outcomes.push(outcome);
        self.outcomes.sort_by(|a, b| a.name.cmp(&b.name));
    }

    pub(crate) fn failed(&self) -> Vec<&str> {
        self.named(|end| matches!(end, End::Failed(_)))
    }

    fn named(&self, is: impl Fn(&End) -> bool) -> Vec<&str> {
        self.outcomes.iter().filter(|outcome| is(&outcome.end)).map(|outcome| outcome.name.as_str()).collect()
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        if self.failed().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    pub(crate) fn print(&self, as_json: bool) -> std::io::Result<()> {
        let passed = self.named(|end| matches!(end, End::Passed)).len();
        let (failed, pending) = (self.failed(), self.named(|end| matches!(end, End::Pending(_))));
        let (seconds, count) = (self.began.elapsed().as_secs_f64(), self.outcomes.len());
        let mut out = std::io::stdout();
        if as_json {
            let report = json!({
                "scenarios": count,
                "passed": passed,
                "failed": failed,
                "pending": pending,
                "seconds": rounded(seconds),
                "results": self.outcomes.iter().map(Outcome::json).collect::<Vec<_>>(),
            });
            return writeln!(out, "{report}");
        }
        let (bad, waiting) = (failed.len(), pending.len());
        writeln!(
            out,
            "{passed} of {count} scenarios passed, {bad} failed, {waiting} pending ({seconds:.0} s)"
        )?;
        failed.iter().try_for_each(|name| writeln!(out, "failed: {name}"))
    }
}

fn rounded(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
