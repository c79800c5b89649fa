//! The control run: the same scripts in a pipeline whose steps have no secrets, so that nothing is masked.

use crate::canary::fixture::{CONTROL_PIPELINE, CanaryFixture};
use crate::canary::print::Print;

/// Returns the share of the prints that are in the logs, each in the log of its stage.
pub(crate) async fn found(fixture: &mut CanaryFixture, prints: &[Print]) -> anyhow::Result<f64> {
    let deployment = fixture.deploy(CONTROL_PIPELINE).await?;
    fixture.succeeded(&deployment).await?;
    let mut found = 0;
    for (stage, log) in fixture.logs(&deployment).await?.iter().enumerate() {
        let mut from = 0;
        for print in prints.iter().filter(|print| print.stage == stage) {
            let text = print.unmasked();
            let rest = log.get(from..).unwrap_or_default();
            if let Some(at) = position(rest, &text) {
                found += 1;
                from += at + text.len();
            }
        }
    }
    Ok(f64::from(found) / prints.len() as f64)
}

/// Returns where a print begins. Prints are in order, so it is near.
fn position(log: &[u8], text: &[u8]) -> Option<usize> {
    log.windows(text.len()).take(4_096).position(|window| window == text)
}
