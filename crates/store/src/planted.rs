//! Planted bugs: deliberate defects that check that the fault harness finds them (`cargo xtask fault
//! planted`). Without the feature `planted` there are none, and the checks for them are compiled away.

use std::sync::OnceLock;

use greenroom_domain::id::{OrganizationId, SessionId};

use crate::{Store, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// The environment's row is read without a lock, and written as if it had not changed since.
    NoRecheckAfterWait,
    /// A plain claim ignores the queue.
    ClaimOvertakesWaiter,
    FenceNotRaisedOnForce,
    ReleaseWithoutOwnerCheck,
    /// Reads of a lock are up to a second old.
    StaleLockCache,
    AnswerBeforeCommit,
    /// Events are written outside of the transaction of the change that they record.
    EventOutsideTransaction,
    /// Leases are decided by the server's clock instead of the database's.
    ClientClockForExpiry,
    /// The time of a decision is the start of the transaction, before it waited for locks.
    NowOfWaitingTransaction,
    /// A step starts even if its session or its deployment has ended.
    StepIgnoresFence,
    /// A job counts as lost as soon as its lease has expired, while its steps may still be running.
    LostAtOnce,
    /// The end of a session hands the work slot over while its deployment is still running.
    SlotPassedOnTooEarly,
    /// One deployment in four gets no wake-ups.
    WakeForgotten,
    /// Responses are not stored under their Idempotency-Key.
    KeyForgotten,
    /// The start of a step is not recorded, so its attempt is retried.
    TouchForgotten,
    /// An attempt succeeds regardless of the results of its steps.
    StepsNotAsked,
    /// Demotion and removal end no sessions, and grants from the queue check no rights.
    RightsOutliveRole,
    /// A hand-over request without a response is always accepted.
    SilenceAlwaysAccepts,
    /// Every developer may cancel and retry the deployments of other people's sessions.
    CancelByAnybody,
    /// A transaction fails if it would have to end more than a few waiting sessions, so a long queue is never
    /// settled.
    SettlingGivesUp,
    /// Reading one's own session confirms its turn.
    ReadConfirmsTurn,
    /// A heartbeat renews the lease of a job that is overdue.
    OverdueKeepsLease,
    /// The end of a deployment under `concurrency` wakes no waiting deployment, and neither does the
    /// watchdog.
    RoomNotHandedOut,
}

/// Returns whether this bug is planted in this process.
pub fn is(bug: Bug) -> bool {
    cfg!(feature = "planted") && chosen() == Some(bug)
}

/// Returns whether any bug is planted. The fast path of a claim contains none of the bugs, so it is disabled
/// then.
pub fn any() -> bool {
    cfg!(feature = "planted") && chosen().is_some()
}

fn chosen() -> Option<Bug> {
    static CHOSEN: OnceLock<Option<Bug>> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let name = std::env::var("GREENROOM_PLANTED").ok()?;
        let bug = Some(match name.as_str() {
            "no_recheck_after_wait" => Bug::NoRecheckAfterWait,
            "claim_overtakes_waiter" => Bug::ClaimOvertakesWaiter,
            "fence_not_raised_on_force" => Bug::FenceNotRaisedOnForce,
            "release_without_owner_check" => Bug::ReleaseWithoutOwnerCheck,
            "stale_lock_cache" => Bug::StaleLockCache,
            "answer_before_commit" => Bug::AnswerBeforeCommit,
            "event_outside_transaction" => Bug::EventOutsideTransaction,
            "client_clock_for_expiry" => Bug::ClientClockForExpiry,
            "now_of_waiting_transaction" => Bug::NowOfWaitingTransaction,
            "step_ignores_fence" => Bug::StepIgnoresFence,
            "lost_at_once" => Bug::LostAtOnce,
            "slot_passed_on_too_early" => Bug::SlotPassedOnTooEarly,
            "wake_forgotten" => Bug::WakeForgotten,
            "key_forgotten" => Bug::KeyForgotten,
            "touch_forgotten" => Bug::TouchForgotten,
            "steps_not_asked" => Bug::StepsNotAsked,
            "rights_outlive_role" => Bug::RightsOutliveRole,
            "silence_always_accepts" => Bug::SilenceAlwaysAccepts,
            "cancel_by_anybody" => Bug::CancelByAnybody,
            "settling_gives_up" => Bug::SettlingGivesUp,
            "read_confirms_turn" => Bug::ReadConfirmsTurn,
            "overdue_keeps_lease" => Bug::OverdueKeepsLease,
            "room_not_handed_out" => Bug::RoomNotHandedOut,
            _ => return None,
        });
        tracing::warn!(bug = name, "a bug was planted in this process");
        bug
    })
}

/// Confirms a granted turn because its session was read, if that bug is planted.
pub async fn read_confirms(
    store: &Store,
    organization: OrganizationId,
    session: SessionId,
) -> Result<(), StoreError> {
    if is(Bug::ReadConfirmsTurn) {
        sqlx::query!(
            "update environments set confirmed = true where organization_id = $1 and session_id = $2",
            organization.uuid(),
            session.uuid(),
        )
        .execute(&store.pool())
        .await?;
    }
    Ok(())
}

/// Returns the time of this machine's clock.
#[expect(clippy::disallowed_methods, reason = "this is the bug")]
pub(crate) fn local_clock() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
