//! The result of the canary.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use crate::search::Found;
use crate::search::forms;

/// The least share of the control's prints that the search must find.
const MIN_CONTROL: f64 = 0.99;

pub(crate) struct Report {
    prints: usize,
    secrets: usize,
    sinks: BTreeMap<&'static str, Found>,
    /// The share of the control's prints that were found.
    pub(crate) control: f64,
    pub(crate) seconds: f64,
}

impl Report {
    pub(crate) fn new(prints: usize, secrets: usize) -> Self {
        Self { prints, secrets, sinks: BTreeMap::new(), control: 0.0, seconds: 0.0 }
    }

    pub(crate) fn add(&mut self, sink: &'static str, found: Found) {
        self.sinks.entry(sink).or_default().add(found);
    }

    pub(crate) fn add_all(&mut self, sinks: impl IntoIterator<Item = (&'static str, Found)>) {
        sinks.into_iter().for_each(|(sink, found)| self.add(sink, found));
    }

    fn hits(&self) -> u64 {
        self.sinks.values().map(|found| found.hits).sum()
    }

    /// Returns why the run proves nothing.
    fn void(&self) -> Vec<String> {
        let empty = self.sinks.iter().filter(|(_, found)| found.bytes == 0);
        let mut reasons: Vec<String> = empty.map(|(sink, _)| format!("{sink} is empty")).collect();
        if self.control < MIN_CONTROL {
            reasons.push(format!("the search found {:.4} of the control's prints", self.control));
        }
        reasons
    }

    /// 0: nothing found; 1: a secret was found; 3: the run proves nothing.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match (self.hits(), self.void().is_empty()) {
            (0, true) => ExitCode::SUCCESS,
            (0, false) => ExitCode::from(3),
            _ => ExitCode::FAILURE,
        }
    }

    pub(crate) fn print(&self, as_json: bool) -> std::io::Result<()> {
        let sink = |(name, found): (&&'static str, &Found)| {
            let mut figures = json!({ "bytes": found.bytes, "hits": found.hits });
            if found.hits > 0 {
                figures["examples"] = json!(found.examples);
            }
            ((*name).to_owned(), figures)
        };
        let report = json!({
            "prints": self.prints,
            "hits": self.hits(),
            "secrets": self.secrets,
            "forms": forms::COUNT,
            "sinks": self.sinks.iter().map(sink).collect::<Map<String, Value>>(),
            "control": self.control,
            "void": self.void(),
            "seconds": (self.seconds * 10.0).round() / 10.0,
        });
        let mut out = std::io::stdout();
        if as_json { writeln!(out, "{report}") } else { writeln!(out, "{report:#}") }
    }
}
