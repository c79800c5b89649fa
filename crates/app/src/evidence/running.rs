//! The evidence of a step that is still running. It is read for the request, so it counts as a search of the log.

use greenroom_api_types::evidence::{DecisiveLine, RunningEvidence};
use greenroom_domain::principal::Principal;
use greenroom_store::failure::RunningStep;
use greenroom_worker::evidence::{MAX_RUNNING_BYTES, read_running};

use super::view::{item_id, log_view, select_items};
use crate::App;
use crate::failure::Failure;

pub(super) async fn read(
    app: &App,
    principal: &Principal,
    running: RunningStep,
    lines: u64,
) -> Result<RunningEvidence, Failure> {
    let bearer = principal.into();
    let _counted = app.limits.search(bearer)?;
    app.limits.search_bytes(bearer, running.log_bytes.min(MAX_RUNNING_BYTES))?;
    let found = read_running(app.log_reader(), principal.organization_id, &running).await?;
    let evidence = found.evidence;
    let (items, left_out) = select_items(&evidence, lines);
    let decisive = evidence.decisive.as_ref();
    Ok(RunningEvidence {
        stage: running.stage_key,
        attempt: running.attempt,
        step: running.name,
        step_run_id: running.id.to_string(),
        environment: Some(running.place).filter(|place| !place.is_empty()),
        started_at: running.started_at,
        decisive: decisive.map(|decisive| item_id(decisive.item)),
        decisive_line: decisive
            .map(|decisive| DecisiveLine { line: decisive.line, text: decisive.text.clone() }),
        decisive_at: found.decisive_at,
        evidence: items,
        log: evidence.log.map(|log| log_view(log, left_out)),
    })
}
