//! A hostile runner: it takes a job as any runner does, and then uploads and reports what it likes.

use serde_json::json;

use crate::fault::provenance::attack::Attack;
use crate::fault::provenance::leaving::ArtifactKind;
use crate::fault::provenance::mark::Place;
use crate::fault::provenance::oracle::may_keep_cache;
use crate::fault::provenance::pipelines::{Artifacts, CACHES, Stage};
use crate::fault::provenance::reading;
use crate::fault::provenance::record::{Record, Started};
use crate::fault::provenance::runner_api::Job;

const MAIN: &str = "main";
/// A branch that the repository does not have.
const ELSEWHERE: &str = "elsewhere";
const UNDECLARED_KEY: &str = "undeclared";

struct Hostile<'a> {
    job: &'a Job<'a>,
    record: &'a Record,
    started: Started,
    stage: &'static Stage,
    /// Every second deployment leaves nothing, so that later stages run.
    is_quiet: bool,
    artifact: ArtifactKind,
}

pub(super) async fn run(job: &Job<'_>, record: &Record, seed: usize) -> anyhow::Result<()> {
    let started = record.deployment(&job.deployment).await?;
    let Some(position) = started.pipeline.stages.iter().position(|stage| stage.key == job.stage) else {
        anyhow::bail!("{} has no stage {}", started.pipeline.slug, job.stage);
    };
    let stage = &started.pipeline.stages[position];
    let is_accepted = started.pipeline.stages.iter().any(|other| other.accept_from.contains(&stage.key));
    // The first deployment is a session, in which no stage accepts anything: the next one has the first kind.
    let kinds = ArtifactKind::ALL;
    let turn = if is_accepted { started.number + kinds.len() - 1 } else { started.number / 2 };
    let artifact = kinds[(turn + position + seed) % kinds.len()];
    let is_quiet = !is_accepted && started.number % 2 == 1;
    let hostile = Hostile { job, record, started, stage, is_quiet, artifact };
    reading::read(job, record).await?;
    let reported = hostile.report_early().await?;
    hostile.leave(reported.as_deref()).await?;
    let is_left_out = !is_quiet && position == 0 && job.attempt == 1 && hostile.started.number % 4 == 2;
    if is_left_out {
        // Whether the attempt has succeeded is judged at the end.
        record.count_contained(Attack::CompleteWithoutSteps, 200);
    } else {
        hostile.run_steps().await?;
    }
    job.complete(json!({})).await.map(drop)
}

impl Hostile<'_> {
    fn describe(&self, what: &str) -> String {
        let Job { deployment, stage, .. } = self.job;
        let Started { pipeline, is_session, branch, .. } = &self.started;
        let purpose = if *is_session { "a session" } else { "the pipeline" };
        format!("{what} of stage {stage} in {deployment} ({} by {purpose}, branch {branch:?})", pipeline.slug)
    }

    /// Reports about steps before anything is checked out or started, and the checkout of a branch. Returns the branch.
    async fn report_early(&self) -> anyhow::Result<Option<String>> {
        let [first, second] = &self.job.steps[..] else {
            anyhow::bail!("a job has {} steps instead of 2", self.job.steps.len());
        };
        let status = self.job.succeed(first, json!({})).await?;
        let what = self.describe("the success of a step that was not started");
        self.record.count_refusable(Attack::EndWithoutStart, status, &what);
        self.put_foreign_cache(None).await?;

        let required = self.job.required_branches();
        let commit = self.job.variable("GREENROOM_COMMIT_ID").to_owned();
        for branch in [MAIN, ELSEWHERE].into_iter().filter(|branch| !required.may_be(branch)) {
            let status = self.job.check_out(&commit, Some(branch)).await?;
            let what = self.describe(&format!("a report of the branch {branch}"));
            self.record.count_refusable(Attack::BranchBySaySo, status, &what);
        }
        // The branch that suits it best, among those that may be true.
        let branch = required.any(MAIN);
        let status = self.job.check_out(&commit, branch.as_deref()).await?;
        let branch = branch.filter(|_| status == 200);
        if status == 200 {
            let key = (self.job.deployment.clone(), self.job.stage.clone());
            self.record.lock().reported.insert(key, branch.clone());
        }
        self.put_foreign_cache(branch.as_deref()).await?;

        let status = self.job.start(second).await?;
        let what = self.describe("the start of the second step before the first one");
        self.record.count_refusable(Attack::StepOutOfOrder, status, &what);
        Ok(branch)
    }

    /// Uploads a cache where no branch was reported that the environment allows.
    async fn put_foreign_cache(&self, branch: Option<&str>) -> anyhow::Result<()> {
        let Started { pipeline, is_session, .. } = self.started;
        if !may_keep_cache(pipeline, is_session, branch) {
            let status = self.put_cache(CACHES[0], Place::Declared).await?;
            let what = self.describe(&format!("a cache after a report of the branch {branch:?}"));
            self.record.count_refusable(Attack::ForeignCache, status, &what);
        }
        Ok(())
    }

    async fn put_cache(&self, key: &str, place: Place) -> anyhow::Result<u16> {
        self.job.put(&format!("/caches/{key}"), self.job.cache(key, place)).await
    }

    /// Leaves archives: those that have to be refused always, and the others unless this deployment is a quiet one.
    async fn leave(&self, reported: Option<&str>) -> anyhow::Result<()> {
        let status = self.put_cache(UNDECLARED_KEY, Place::Outside).await?;
        let what = self.describe("a cache under an undeclared key");
        self.record.count_refusable(Attack::UndeclaredCache, status, &what);
        if self.stage.artifacts == Artifacts::None {
            let status = self.job.put("/artifact", self.job.artifact(self.artifact)).await?;
            let what = self.describe("an undeclared artifact");
            self.record.count_refusable(Attack::UndeclaredArtifact, status, &what);
        }
        if self.is_quiet {
            return Ok(());
        }
        if self.stage.artifacts != Artifacts::None {
            let status = self.job.put("/artifact", self.job.artifact(self.artifact)).await?;
            let attack = match self.artifact {
                ArtifactKind::Declared => Attack::LowerArtifact,
                ArtifactKind::Outside | ArtifactKind::Above => Attack::ArtifactOutsidePaths,
                ArtifactKind::Git | ArtifactKind::Link => Attack::ArtifactBelowGit,
                ArtifactKind::Checkout => Attack::ArtifactOverCheckout,
            };
            self.record.count_contained(attack, status);
        }
        let contained_in = self.started.contained_in;
        let (place, attack) = match reported.is_none_or(|branch| contained_in.contains(&branch)) {
            true => (Place::Declared, Attack::LowerCache),
            false => (Place::Claimed, Attack::ClaimedBranch),
        };
        let status = self.put_cache(CACHES[0], place).await?;
        self.record.count_contained(attack, status);
        let places = [Place::Outside, Place::Git, Place::Checkout];
        let status = self.put_cache(CACHES[1], places[self.started.number / 2 % places.len()]).await?;
        self.record.count_contained(Attack::CacheOutsidePaths, status);
        Ok(())
    }

    /// Runs the steps, in order: each is reported as started and as succeeded.
    async fn run_steps(&self) -> anyhow::Result<()> {
        for (number, step) in self.job.steps.iter().enumerate() {
            if self.job.start(step).await? != 200 {
                continue;
            }
            let leaves_outputs = number > 0 && !self.is_quiet;
            let outputs = if leaves_outputs { self.job.outputs() } else { json!({}) };
            let status = self.job.succeed(step, outputs).await?;
            if leaves_outputs {
                self.record.count_contained(Attack::LowerOutput, status);
            }
        }
        Ok(())
    }
}
