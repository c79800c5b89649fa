//! The report of a campaign of any kind: how it is printed, and which exit code it has.

use std::io::Write;
use std::process::ExitCode;

use serde::Serialize;

use crate::fault::finding::FindingSummary;

/// Exit code of a run that proves nothing.
const VOID: u8 = 3;
/// Exit code of a campaign during which the system clock was stepped.
const CLOCK_STEPPED: u8 = 4;

pub(crate) trait CampaignReport: Serialize {
    fn found(&self) -> &FindingSummary;

    /// Returns why this run proves nothing, if that is so.
    fn void(&self) -> Option<&str>;

    /// Returns whether the system clock was stepped during the run. Such a run is void whatever it has found.
    fn clock_stepped(&self) -> bool;

    /// Writes the campaign's figures, for people.
    fn write_summary(&self, out: &mut dyn Write) -> std::io::Result<()>;

    /// Prints the report, as JSON for programs, and returns the exit code.
    fn finish(&self, json: bool) -> anyhow::Result<ExitCode> {
        let mut out = std::io::stdout();
        if json {
            writeln!(out, "{}", serde_json::to_string(self)?)?;
            return Ok(self.exit_code());
        }
        for finding in &self.found().findings {
            writeln!(out, "{}: {}", finding.property, finding.text)?;
        }
        self.write_summary(&mut out)?;
        if let Some(void) = self.void() {
            writeln!(out, "void: {void}")?;
        }
        Ok(self.exit_code())
    }

    fn exit_code(&self) -> ExitCode {
        if self.clock_stepped() {
            return ExitCode::from(CLOCK_STEPPED);
        }
        match (self.found().violations, self.void()) {
            (0, None) => ExitCode::SUCCESS,
            (0, Some(_)) => ExitCode::from(VOID),
            _ => ExitCode::FAILURE,
        }
    }
}
