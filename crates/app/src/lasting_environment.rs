//! Lasting environments as the API returns them.

use greenroom_api_types::lasting_environment as wire;
use greenroom_api_types::person::Person;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::StageStatus;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::text::CommitPrefix;
use greenroom_store::Store;
use greenroom_store::environment_list::EnvironmentFilter;
use greenroom_store::freeze::ActiveFreeze;
use greenroom_store::lasting_environment::{
    HistoryRecord, HoldRecord, LastingFilter, LastingRecord, LiveRecord, SlotRecord, UserRecord,
};
use greenroom_store::page::{Page, PageResult};

use crate::failure::Failure;

/// Returns a page of the lasting environments of all pipelines that match the filter and are not archived. Of the
/// filter, only the conditions on the pipeline count.
#[boxed_futures]
pub async fn list(
    store: &Store,
    organization: OrganizationId,
    filter: &EnvironmentFilter,
    commit_id: Option<&CommitPrefix>,
    page: Page,
) -> Result<PageResult<LastingRecord>, Failure> {
    let pipelines = store.listed_pipelines(organization, filter).await?;
    let pipelines: Vec<_> = pipelines.into_iter().map(|(id, _)| id).collect();
    let filter = LastingFilter { pipelines: &pipelines, commit_id };
    Ok(store.lasting_environments(organization, filter, page).await?)
}

pub fn environment_view(record: LastingRecord) -> wire::LastingEnvironment {
    let (url, branches) =
        record.definition.map(|definition| (definition.url, definition.branches)).unwrap_or_default();
    wire::LastingEnvironment {
        name: record.name,
        kind: wire::EnvironmentKind::Lasting,
        pipeline_id: record.pipeline_id.to_string(),
        pipeline_slug: record.pipeline_slug,
        url,
        branches,
        live: record.live.map(live_view),
        slot: record.slot.map(slot_view),
        hold: record.hold.map(hold_view),
        freeze: record.freeze.map(freeze_view),
        waiting: record.waiting,
    }
}

pub fn history_view(record: HistoryRecord) -> wire::EnvironmentDeployment {
    wire::EnvironmentDeployment {
        fence: record.fence,
        deployment_id: record.deployment_id.to_string(),
        commit_id: record.commit_id,
        branch: record.branch,
        by: person(record.by),
        created_by: Some(person(record.created_by)),
        overrides: record
            .overrides
            .into_iter()
            .filter_map(|json| serde_json::from_value(json).ok())
            .collect(),
        began_at: record.began_at,
        ended_at: record.ended_at,
        outcome: record.outcome.and_then(outcome_view),
        live: record.is_live,
        rollback: record.is_rollback,
    }
}

fn live_view(live: LiveRecord) -> wire::LiveDeployment {
    wire::LiveDeployment {
        deployment_id: live.deployment_id.to_string(),
        commit_id: live.commit_id,
        branch: live.branch,
        at: live.at,
        by: person(live.by),
        rollback: live.is_rollback,
    }
}

fn slot_view(slot: SlotRecord) -> wire::EnvironmentSlot {
    wire::EnvironmentSlot {
        deployment_id: slot.deployment_id.to_string(),
        commit_id: slot.commit_id,
        since: slot.since,
        by: person(slot.by),
    }
}

fn hold_view(hold: HoldRecord) -> wire::EnvironmentHold {
    let HoldRecord { by, reason, since, until } = hold;
    wire::EnvironmentHold { by: person(by), reason, since, until }
}

fn freeze_view(freeze: ActiveFreeze) -> wire::EnvironmentFreeze {
    let ActiveFreeze { id, name, reason, until } = freeze;
    wire::EnvironmentFreeze { id: id.to_string(), name, reason, until }
}

/// The table's check allows these outcomes only.
fn outcome_view(outcome: StageStatus) -> Option<wire::EnvironmentOutcome> {
    match outcome {
        StageStatus::Succeeded => Some(wire::EnvironmentOutcome::Succeeded),
        StageStatus::Failed => Some(wire::EnvironmentOutcome::Failed),
        StageStatus::Errored => Some(wire::EnvironmentOutcome::Errored),
        StageStatus::Canceled => Some(wire::EnvironmentOutcome::Canceled),
        _ => None,
    }
}

fn person(user: UserRecord) -> Person {
    Person { id: user.id.to_string(), name: user.name }
}
