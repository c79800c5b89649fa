//! The result of the campaign, for programs and people.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use crate::fault::campaign_report::CampaignReport;
use crate::fault::finding::FindingSummary;
use crate::fault::provenance::attack::{Attack, Tried};
use crate::fault::provenance::judge::Judged;
use crate::fault::provenance::mark::Medium;
use crate::fault::provenance::options::Provenance;
use crate::fault::provenance::pipelines::{PIPELINES, POOLS};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    deployments: usize,
    sessions: usize,
    pipelines: usize,
    pools: usize,
    attempts: usize,
    refused: usize,
    by_attack: BTreeMap<Attack, Tried>,
    /// Marks that were found in jobs which may have them.
    legitimate: BTreeMap<Medium, usize>,
    /// The same by the pool of the job.
    legitimate_by_pool: BTreeMap<&'static str, usize>,
    /// Marks that were found in jobs which must not have them.
    forbidden: BTreeMap<String, usize>,
    /// Those of them that a job of a pool of a lower rank has left.
    marks_of_lower_origin: usize,
    /// Jobs whose inputs were read through the API, and jobs of the product's runner whose workspaces were searched.
    read_jobs: usize,
    searched_jobs: usize,
    /// Attempts that the product's runner has ended because of what an artifact contains.
    refused_by_runner: usize,
    stages: BTreeMap<String, usize>,
    void: Option<String>,
    planted: Option<String>,
    pub(super) seconds: u64,
    #[serde(flatten)]
    found: FindingSummary,
}

impl Report {
    pub(super) fn new(options: &Provenance, (deployments, sessions): (usize, usize), judged: Judged) -> Self {
        let void = void(&judged);
        let mut found = FindingSummary::default();
        found.add(judged.findings);
        let sum = |count: fn(&Tried) -> usize| judged.attempts.values().map(count).sum::<usize>();
        Self {
            deployments,
            sessions,
            pipelines: PIPELINES.len(),
            pools: POOLS.len(),
            attempts: sum(|tried| tried.attempts),
            refused: sum(|tried| tried.refused),
            by_attack: judged.attempts,
            legitimate: judged.legitimate,
            legitimate_by_pool: judged.legitimate_by_pool,
            forbidden: judged.forbidden,
            marks_of_lower_origin: judged.lower_origin,
            read_jobs: judged.read_jobs,
            searched_jobs: judged.searched_jobs,
            refused_by_runner: judged.refused_by_runner,
            stages: judged.stages,
            void,
            planted: options.stack.planted.clone(),
            seconds: 0,
            found,
        }
    }
}

/// A campaign in which nothing arrives, or in which an attack was not tried, proves nothing.
fn void(judged: &Judged) -> Option<String> {
    let by_medium = judged.legitimate.iter().map(|(medium, count)| (format!("{medium:?}"), *count));
    let by_pool =
        judged.legitimate_by_pool.iter().map(|(pool, count)| (format!("mark in pool {pool}"), *count));
    let others = [
        ("job read through the API", judged.read_jobs),
        ("workspace searched", judged.searched_jobs),
        ("artifact refused by the product's runner", judged.refused_by_runner),
    ];
    let others = others.map(|(what, count)| (what.to_owned(), count));
    let arrived = by_medium.chain(by_pool).map(|(what, count)| (format!("{what} that may arrive"), count));
    let missing = arrived.chain(others).find(|(_, count)| *count == 0);
    match (missing, &judged.never_tried[..]) {
        (Some((what, _)), _) => Some(format!("no {what}")),
        (None, []) => None,
        (None, never) => Some(format!("not tried: {never:?}")),
    }
}

impl CampaignReport for Report {
    fn found(&self) -> &FindingSummary {
        &self.found
    }

    fn void(&self) -> Option<&str> {
        self.void.as_deref()
    }

    fn clock_stepped(&self) -> bool {
        false
    }

    fn write_summary(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Self { deployments, sessions, attempts, refused, .. } = self;
        writeln!(out, "{deployments} deployments, {sessions} of them in sessions, and {attempts} attacks:")?;
        for (attack, tried) in &self.by_attack {
            let Tried { attempts, refused, got_through, contained } = tried;
            writeln!(
                out,
                "  {attack:?}: {attempts}, of which {refused} refused, {contained} contained, {got_through} got through"
            )?;
        }
        let by_runner = self.refused_by_runner;
        writeln!(
            out,
            "{refused} were refused by the server, and {by_runner} artifacts by the product's runner"
        )?;
        let (read, searched) = (self.read_jobs, self.searched_jobs);
        writeln!(out, "{read} jobs were read through the API, and {searched} workspaces searched")?;
        for (medium, count) in &self.legitimate {
            writeln!(out, "  {medium:?}: {count} arrived that may")?;
        }
        for (pool, count) in &self.legitimate_by_pool {
            writeln!(out, "  in pool {pool}: {count} of them")?;
        }
        writeln!(out, "marks of a lower origin that reached a higher stage: {}", self.marks_of_lower_origin)?;
        self.stages.iter().try_for_each(|(end, count)| writeln!(out, "  stages {end}: {count}"))
    }
}
