//! Records of freezes as the API returns them.

use greenroom_api_types::freeze as wire;
use greenroom_domain::id::PipelineId;
use greenroom_store::freeze::FreezeRecord;
use jiff::Timestamp;

pub fn freeze_view(freeze: FreezeRecord, now: Timestamp) -> wire::Freeze {
    let is_ended = freeze.ended_at.is_some();
    let until = freeze.schedule.frozen_until(now).filter(|_| !is_ended);
    let next = freeze.schedule.next_period(now).filter(|_| !is_ended);
    let schedule = freeze.schedule.to_input();
    let windows = schedule.weekly.into_iter();
    wire::Freeze {
        id: freeze.id.to_string(),
        name: freeze.name,
        reason: freeze.reason,
        pipelines: freeze.reach.pipelines().iter().map(PipelineId::to_string).collect(),
        environments: freeze.reach.environments().to_vec(),
        from: schedule.from,
        to: schedule.to,
        weekly: windows.map(|window| wire::FreezeWindow { from: window.from, to: window.to }).collect(),
        zone: schedule.zone,
        active: until.is_some(),
        until,
        next_from: next.map(|next| next.from),
        next_until: next.map(|next| next.until),
        created_at: freeze.created_at,
        created_by: freeze.created_by.to_string(),
        updated_at: freeze.updated_at,
        ended_at: freeze.ended_at,
    }
}

/// Returns the part of the `ETag` for what depends on the time. It changes when a period begins or ends.
pub fn etag_suffix(freeze: &FreezeRecord, now: Timestamp) -> String {
    let next = freeze.schedule.next_change(now).filter(|_| freeze.ended_at.is_none());
    next.map_or(0, Timestamp::as_second).to_string()
}
