//! A fix during which a part is killed, at a point that is planned.

use std::time::Duration;

use anyhow::Context;
use greenroom_recording_forge::{AppliesTo, Fault};
use reqwest::Method;
use serde_json::{Value, json};

use crate::fault::finding::Finding;
use crate::fault::fixes::fixture::FixFixture;
use crate::parts::output::print_progress;
use crate::scenarios::step::Part;

const PARTS: [Part; 4] = [Part::Worker, Part::Server, Part::Temporal, Part::Postgres];
const STATUSES: [&str; 4] = ["queued", "reproducing", "verifying", "opening"];
/// How long after the status was seen the part is killed, in milliseconds.
const DELAYS: [u64; 4] = [0, 150, 600, 1_500];
/// So slow is the forge while it opens a pull request, so that a kill hits the call.
const SLOW_FORGE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug)]
pub(super) struct KillPoint {
    status: &'static str,
    part: Part,
    delay: Duration,
    /// The fix is right.
    is_right: bool,
    forge: ForgeFault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ForgeFault {
    None,
    Slow,
    /// Does what was requested, and responds with 500.
    FailAfter,
}

/// Returns the points: each part in each status, with other delays in each round.
pub(super) fn points(count: u32) -> Vec<KillPoint> {
    let point = |number: usize| {
        let (status, part) = (STATUSES[number % 4], PARTS[number / 4 % 4]);
        let round = number / 16;
        let forge = match (status, round % 2) {
            ("opening", 0) => ForgeFault::Slow,
            ("opening", _) => ForgeFault::FailAfter,
            _ => ForgeFault::None,
        };
        let delay = Duration::from_millis(DELAYS[(number + round) % 4]);
        // One in eight is still red.
        KillPoint { status, part, delay, is_right: number % 8 != 5 || status == "opening", forge }
    };
    // With few points, every status and every part still occurs.
    (0..count as usize).map(|number| point(number * 5 % 16 + number / 16 * 16)).collect()
}

/// Plays a fix. Returns whether the part was killed in the planned status, and the findings.
pub(super) async fn play(
    fixture: &FixFixture,
    number: usize,
    point: KillPoint,
) -> anyhow::Result<(bool, Vec<Finding>)> {
    let name = letters(number);
    let change = fixture.repository.change(&name, point.is_right).await?;
    let (commit, branch) = change.green.clone();
    fixture.forge.state().branches.insert(branch.clone(), commit.clone());
    let analysis = fixture.analyzed_failure(&change.red).await?;
    match point.forge {
        ForgeFault::None => fixture.forge.clear_fault(),
        ForgeFault::Slow => fixture.forge.set_fault(AppliesTo::Writes, Fault::SlowAfter(SLOW_FORGE)),
        ForgeFault::FailAfter => fixture.forge.set_fault(AppliesTo::Writes, Fault::FailAfter),
    }
    let body = json!({ "source": "commit", "commitId": commit, "branch": branch });
    let path = format!("/analyses/{analysis}/fix-pull-requests");
    let made = fixture.call(Method::POST, &path, Some(body)).await?;
    let path = format!("/fix-pull-requests/{}", made["id"].as_str().context("a fix without an id")?);
    let reached = |found: &Value| found["status"] == point.status || is_over(found);
    let seen = fixture.wait_for(&path, reached).await?;
    let was_hit = seen["status"] == point.status;
    tokio::time::sleep(point.delay).await;
    fixture.parts.down(point.part, false).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    fixture.forge.clear_fault();
    fixture.parts.up(point.part).await?;
    let ended = fixture.wait_for(&path, is_over).await;
    let held = fixture.held().await?;
    let opened = fixture.forge.state().pull_requests.iter().filter(|opened| opened.head == branch).count();
    let mut findings = Vec::new();
    let expected = if point.is_right { "opened" } else { "failed" };
    match &ended {
        Ok(fix) if fix["status"] == expected => {}
        Ok(fix) => findings.push(Finding::new("F3", format!("{point:?}: {fix}"))),
        Err(error) => findings.push(Finding::new("F3", format!("{point:?}: {error:#}"))),
    }
    if opened != usize::from(point.is_right) {
        findings.push(Finding::new("F1", format!("{point:?}: {opened} pull requests")));
    }
    if !held.is_empty() {
        findings.push(Finding::new("F2", format!("{point:?}: {held:?} are held")));
    }
    print_progress(&format!(
        "{number}: {:?} killed in {}, {} findings",
        point.part,
        point.status,
        findings.len()
    ));
    Ok((was_hit, findings))
}

fn is_over(fix: &Value) -> bool {
    matches!(fix["status"].as_str(), Some("opened" | "merged" | "closed" | "refused" | "failed" | "canceled"))
}

/// Returns a name without digits, which a fingerprint would leave out.
fn letters(number: usize) -> String {
    number.to_string().bytes().map(|digit| char::from(b'k' + (digit - b'0'))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_points_have_every_status_and_many_have_every_pair() {
        let few = points(6);
        assert!(STATUSES.iter().all(|status| few.iter().any(|point| point.status == *status)), "{few:?}");
        assert!(PARTS.iter().all(|part| few.iter().any(|point| point.part == *part)), "{few:?}");
        let many = points(32);
        for status in STATUSES {
            for part in PARTS {
                let pairs = many.iter().filter(|point| point.status == status && point.part == part);
                assert_eq!(pairs.count(), 2, "{status} {part:?}");
            }
        }
        assert!(many.iter().any(|point| !point.is_right));
    }
}
