//! Compares what the database and the API have after an outage with what was expected.
//!
//! L18: an outage ends no place, turn, request or renewed hold that had time left. L19: what was over ends. L3: never two
//! holders, and every grant has a higher fence than all before it.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::fault::finding::Finding;
use crate::fault::fixture::parse_id;
use crate::fault::outages::expected::{Expected, Right};
use crate::fault::outages::moved_time::Stored;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutageFigures {
    pub(crate) outages: u64,
    /// Those of at least `ABSENCE_LENGTH`: they are longer than the gap that counts as an absence.
    pub(super) absences: u64,
    /// The sum of the outages' lengths, in moved time.
    pub(super) away_seconds: u64,
    pub(super) places_kept: u64,
    pub(super) places_lost: u64,
    pub(super) holds_kept: u64,
    pub(super) holds_lost: u64,
    pub(super) granted_twice: u64,
    /// What was over and has ended, and what was over and has not.
    pub(super) due_ended: u64,
    pub(super) due_left: u64,
    /// Environments about which nothing could be concluded, because the machine was too slow.
    pub(super) undecided: u64,
    pub(super) judged: u64,
    pub(super) longest_settling_millis: u64,
}

impl OutageFigures {
    pub(crate) fn write_summary(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Self { outages, away_seconds, places_lost, holds_lost, granted_twice, .. } = self;
        let (places, holds) = (self.places_kept + places_lost, self.holds_kept + holds_lost);
        writeln!(
            out,
            "{outages} outages ({away_seconds} s in moved time): {places_lost} of {places} places and {holds_lost} of {holds} renewed \
             holds lost, {granted_twice} locks granted twice"
        )
    }

    /// Returns why these outages prove nothing.
    pub(crate) fn void(&self) -> Option<String> {
        let Self { undecided, judged, .. } = self;
        if undecided * 4 > judged + undecided {
            return Some(format!("{undecided} of {} environments could not be judged", judged + undecided));
        }
        let none = self.places_kept == 0 || self.holds_kept == 0 || self.due_ended == 0 || self.absences == 0;
        none.then(|| "the outages were too few to show anything".to_owned())
    }
}

/// Judges one environment. Returns whether it is as expected.
pub(super) fn environment(
    (context, expected): (&str, &Expected),
    rows: &[&Stored],
    figures: &mut OutageFigures,
    findings: &mut Vec<Finding>,
) -> bool {
    let before = findings.len();
    let mut find =
        |property, text: String| findings.push(Finding::new(property, format!("{context}: {text}")));
    let status = |session: Uuid| rows.iter().find(|row| row.session == session);
    for party in expected.alive() {
        let row = status(party.session);
        let holds = row.is_some_and(|row| row.is_active() && row.holds);
        let is_kept = if party.right == Right::Place { row.is_some_and(|row| row.waits()) } else { holds };
        let (kept, lost) = match party.right {
            Right::Lease => (&mut figures.holds_kept, &mut figures.holds_lost),
            Right::Turn | Right::Place => (&mut figures.places_kept, &mut figures.places_lost),
        };
        if is_kept {
            *kept += 1;
            continue;
        }
        let text = format!("{:?} with {:?} left is {}", party.right, party.left, describe(row.copied()));
        if party.right == Right::Place && holds {
            find("L3", format!("{text}, although another session holds or comes before it"));
        } else {
            *lost += 1;
            find("L18", text);
        }
    }
    let alive: HashSet<Uuid> = expected.alive().map(|party| party.session).collect();
    for row in rows {
        match (row.is_active() || row.waits(), alive.contains(&row.session)) {
            (true, false) => {
                figures.due_left += 1;
                find("L19", format!("{} although its time is over", describe(Some(row))));
            }
            (false, false) => figures.due_ended += 1,
            _ => {}
        }
    }
    let waiting: Vec<Uuid> = rows.iter().filter(|row| row.waits()).map(|row| row.session).collect();
    let in_order: Vec<Uuid> = expected.queue.iter().map(|waiter| waiter.session).collect();
    if findings_are_none(before, findings) && waiting != in_order {
        findings.push(Finding::new("L18", format!("{context}: the order of the queue has changed")));
    }
    let pending = rows.iter().find(|row| row.requests).map(|row| row.session);
    let request = expected.request.map(|request| request.by);
    if findings_are_none(before, findings) && pending != request {
        let property = if pending.is_none() { "L18" } else { "L19" };
        let text = format!("{context}: the pending request is {pending:?} instead of {request:?}");
        findings.push(Finding::new(property, text));
    }
    findings_are_none(before, findings)
}

fn findings_are_none(before: usize, findings: &[Finding]) -> bool {
    findings.len() == before
}

/// Judges the grants of one environment. `floor` is the highest fence that it had before.
pub(super) fn grants(context: &str, rows: &[&Stored], floor: i64) -> Vec<Finding> {
    let mut granted: Vec<&&Stored> = rows.iter().filter(|row| row.fence.is_some()).collect();
    granted.sort_by_key(|row| row.claimed_at);
    let mut findings = Vec::new();
    let mut find = |text: String| findings.push(Finding::new("L3", format!("{context}: {text}")));
    let mut last = floor;
    for row in &granted {
        let fence = row.fence.unwrap_or_default();
        if fence <= last {
            find(format!("granted with fence {fence} after fence {last}"));
        }
        last = last.max(fence);
    }
    for pair in granted.windows(2) {
        if pair[0]
            .ended_at
            .is_none_or(|ended_at| pair[1].claimed_at.is_some_and(|claimed_at| ended_at > claimed_at))
        {
            find(format!(
                "{} and {} held at the same time",
                describe(Some(pair[0])),
                describe(Some(pair[1]))
            ));
        }
    }
    for row in rows.iter().filter(|row| row.is_active() != row.holds) {
        find(format!("{}, and its environment names another holder", describe(Some(row))));
    }
    findings
}

/// Compares the holders that a server's list shows with the expected ones, by environment.
pub(super) fn listed(context: &str, listed: &Value, expected: &HashMap<&str, Option<Uuid>>) -> Vec<Finding> {
    let environments = listed["data"].as_array().map_or(&[][..], Vec::as_slice);
    let differs = |environment: &Value| {
        let name = environment["envName"].as_str()?;
        let holder = expected.get(name)?;
        let shown = environment["lock"]["sessionId"].as_str().and_then(parse_id);
        let text = format!("{context}, {name}: shown as held by {shown:?} instead of {holder:?}");
        (shown != *holder).then(|| Finding::new("L18", text))
    };
    environments.iter().filter_map(differs).collect()
}

fn describe(row: Option<&Stored>) -> String {
    match row {
        Some(row) => format!("…{} {} (fence {:?})", &row.session.to_string()[24..], row.status, row.fence),
        None => "not stored".to_owned(),
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
