//! Opens the draft of a verified fix.

use greenroom_domain::fix::{FixReason, Proof, Proposal};
use greenroom_store::fix::{DueFix, FixProofs, ProofRecord};
use greenroom_store::{Store, StoreError, with_db_timeout};

use super::call::{FIRST_POLL, with_forge};
use crate::evidence::ForgeAccess;
use crate::forge::{
    Forge, ForgeError, NewPullRequest, NewStatus, PullRequest, StatusState, VERIFIED_CONTEXT, open_once,
};

/// How the calls of the forge ended.
enum Outcome {
    Opened(PullRequest),
    Refused(FixReason, String),
}

pub(super) async fn open(store: &Store, access: &ForgeAccess, due: &DueFix) -> Result<(), StoreError> {
    let proofs = with_db_timeout(store.fix_proofs(due)).await?;
    let url = proofs.repository.as_deref().unwrap_or_default();
    let outcome = with_forge(store, access, due, url, |forge| propose(store, forge, due, &proofs)).await?;
    match outcome {
        Ok(Outcome::Opened(pull_request)) => {
            let opened = (pull_request.number, pull_request.url.as_str());
            with_db_timeout(store.fix_opened(due, opened, FIRST_POLL)).await
        }
        Ok(Outcome::Refused(reason, detail)) => {
            with_db_timeout(store.end_fix(due, reason, Some(&detail))).await
        }
        Err(failed) => failed.record(store, due).await,
    }
}

/// Checks that the fix is still wanted and unchanged, opens the draft, and sets the status of the commit.
async fn propose(
    store: &Store,
    forge: Box<dyn Forge>,
    due: &DueFix,
    proofs: &FixProofs,
) -> Result<Result<Outcome, ForgeError>, StoreError> {
    let forge = forge.as_ref();
    let base = match base_branch(forge, due).await {
        Ok(base) => base,
        Err(error) => return Ok(Err(error)),
    };
    if with_db_timeout(store.is_fixed_on(due, &base)).await? {
        let detail = format!("a later deployment of `{base}` has passed the stage");
        return Ok(Ok(Outcome::Refused(FixReason::AlreadyFixed, detail)));
    }
    Ok(open_on(forge, due, proofs, &base).await)
}

/// Returns the branch of the failing commit if the forge still has it, otherwise the default branch.
async fn base_branch(forge: &dyn Forge, due: &DueFix) -> Result<String, ForgeError> {
    let fix = &due.fix;
    if let Some(branch) = fix.failing_branch.as_ref().filter(|branch| **branch != fix.branch)
        && forge.branch_head(branch).await?.is_some()
    {
        return Ok(branch.clone());
    }
    forge.default_branch().await
}

async fn open_on(
    forge: &dyn Forge,
    due: &DueFix,
    proofs: &FixProofs,
    base: &str,
) -> Result<Outcome, ForgeError> {
    let fix = &due.fix;
    match forge.branch_head(&fix.branch).await? {
        Some(head) if head == fix.commit_id => {}
        Some(_) => {
            let detail = "the branch has other commits after the one that was verified".to_owned();
            return Ok(Outcome::Refused(FixReason::BranchMoved, detail));
        }
        None => {
            let detail = "the forge does not have the branch".to_owned();
            return Ok(Outcome::Refused(FixReason::CommitNotOnBranch, detail));
        }
    }
    // Only a remark of the text.
    let commits_behind =
        forge.compare(&fix.commit_id, base).await.ok().map(|comparison| comparison.total_commits);
    let proposal = proposal(due, proofs, commits_behind);
    let (title, body) = (proposal.title(), proposal.body());
    let new = NewPullRequest { head: &fix.branch, commit: &fix.commit_id, base, title: &title, body: &body };
    let opened = open_once(forge, &new).await?;
    let green = proposal.green.last().and_then(|proof| proof.url.as_deref());
    let status = NewStatus {
        commit: &fix.commit_id,
        context: VERIFIED_CONTEXT,
        state: StatusState::Success,
        url: green,
        description: "Greenroom deployed it: the failure is gone",
    };
    forge.status(&status).await?;
    Ok(Outcome::Opened(opened.pull_request))
}

fn proposal(due: &DueFix, proofs: &FixProofs, commits_behind: Option<u64>) -> Proposal {
    let fix = &due.fix;
    let proof = |record: &ProofRecord| Proof {
        commit_id: record.commit_id.clone(),
        url: fix.web_url.as_ref().map(|prefix| format!("{prefix}{}", record.deployment_id)),
        environment: record.env_name.clone(),
        definition_version: record.definition_version,
        images: record.images.clone(),
    };
    Proposal {
        fix_id: fix.id.to_string(),
        stage: fix.stage.clone(),
        step: fix.step.clone(),
        fingerprint: fix.fingerprint.clone(),
        requested_by: (fix.requested_by_name.clone(), fix.requested_by_kind.clone()),
        lines: proofs.lines.clone(),
        red: proofs.red.iter().map(proof).collect(),
        green: proofs.green.iter().map(proof).collect(),
        is_one_session: fix.reproduction_id.is_some(),
        stages_not_run: proofs.stages_not_run.clone(),
        commits_behind,
    }
}
