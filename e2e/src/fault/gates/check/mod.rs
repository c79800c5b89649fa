//! The checker: pure functions that judge the journal of the steps, the clients' history and the database. Each file
//! checks one property; their ids are those of docs/reliability.md.

mod closed_gate;
mod exclusive;
mod live;
mod order;
#[cfg(test)]
mod sample;
mod superseded;
mod tenure;

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::clock::Micros;
use crate::fault::deployments::ledger::{DeploymentRow, Ledger};
use crate::fault::finding::Finding;
use crate::fault::gates::history::{History, Place};
use crate::fault::gates::journal::Line;
use crate::fault::gates::ledger::{GateLedger, TenureRow};

/// Everything observed in a campaign.
pub(crate) struct Evidence<'a> {
    history: &'a History,
    /// By time.
    lines: &'a [Line],
    ledger: &'a Ledger,
    gates: &'a GateLedger,
    deployments: HashMap<Uuid, &'a DeploymentRow>,
}

impl<'a> Evidence<'a> {
    pub(crate) fn new(
        history: &'a History,
        lines: &'a [Line],
        ledger: &'a Ledger,
        gates: &'a GateLedger,
    ) -> Self {
        let deployments = ledger.deployments.iter().map(|row| (row.id, row)).collect();
        Self { history, lines, ledger, gates, deployments }
    }

    /// Returns the lines of steps in an environment.
    fn lines_in(&self, place: Place) -> impl Iterator<Item = &'a Line> {
        let is_there = move |line: &&Line| {
            line.pipeline == place.pipeline && line.environment.as_deref() == Some(place.environment)
        };
        self.lines.iter().filter(is_there)
    }

    /// Returns the times in which deployments have worked in an environment, in order.
    fn tenures_in(&self, place: Place) -> impl Iterator<Item = &'a TenureRow> + Clone {
        self.gates.tenures.iter().filter(move |tenure| tenure.place == place)
    }

    fn places(&self) -> impl Iterator<Item = Place> {
        self.gates.environments.iter().map(|row| row.place)
    }

    /// Returns how often users had retried the deployment before this moment.
    fn retries_before(&self, deployment: Uuid, at: Micros) -> usize {
        let retried = self.gates.retried_at.get(&deployment).map_or(&[][..], Vec::as_slice);
        retried.iter().filter(|retried| **retried < at).count()
    }

    /// Returns when the deployment was accepted that has begun to work at this moment.
    fn accepted_at(&self, tenure: &TenureRow) -> Micros {
        let created_at = self.deployments.get(&tenure.deployment).map_or(Micros::MIN, |row| row.created_at);
        let accepted_at = self.gates.accepted_at.get(&tenure.deployment).copied().unwrap_or(created_at);
        if accepted_at <= tenure.began_at { accepted_at } else { created_at }
    }

    /// Returns whether a user requested that the deployment may replace a newer one.
    fn allows_older(&self, deployment: Uuid) -> bool {
        let row = self.deployments.get(&deployment);
        let start = row.and_then(|row| self.history.starts.get(&row.commit));
        start.is_some_and(|start| start.allows_older)
            || self.history.retries.iter().any(|retry| retry.deployment == deployment && retry.allows_older)
    }

    /// Returns whether the deployment may count as this user's: the user started or retried it.
    fn may_be_of(&self, deployment: Uuid, user: Uuid) -> bool {
        let row = self.deployments.get(&deployment);
        let start = row.and_then(|row| self.history.starts.get(&row.commit));
        start.is_none_or(|start| start.user == user)
            || self.history.retries.iter().any(|retry| retry.deployment == deployment && retry.user == user)
    }
}

pub(crate) fn all(evidence: &Evidence<'_>) -> Vec<Finding> {
    let checks = [
        exclusive::check,
        tenure::check,
        order::check,
        live::check,
        closed_gate::check_holds,
        closed_gate::check_freezes,
        superseded::check,
    ];
    checks.iter().flat_map(|check| check(evidence)).collect()
}

fn name(place: Place) -> String {
    format!("{}/{}", place.pipeline, place.environment)
}
