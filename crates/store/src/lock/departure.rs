//! Waiting sessions that the system ends: those whose heartbeat timed out, and those that may not hold the
//! environment at their turn. Any number of them takes one update, and their events are inserted together.

use greenroom_domain::environment::Effect;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::session::SessionEnd;
use jiff::Timestamp;

use crate::StoreError;
use crate::lock::LockedEnvironment;
use crate::lock::context::LockCommandContext;
use crate::transaction::{Actor, OrgTransaction};

/// A waiting session that ends, and the reason if it is not the missing heartbeat of a program.
type Departure = (uuid::Uuid, Option<&'static str>);

/// Returns the departure if the effect is the end of a session that was waiting, and so has neither a lease
/// nor deployments.
///
/// A session that leaves the queue by its own command is not a departure. It is recorded with its actor.
pub(super) fn departure(
    command_context: &LockCommandContext<'_>,
    effect: Effect,
    now: Timestamp,
) -> Option<Departure> {
    match effect {
        Effect::Skipped { session, why } => Some((session.uuid(), Some(why.reason()))),
        Effect::Ended { session, end: SessionEnd::Canceled } => {
            let waiter =
                command_context.before.queue.find(session).filter(|waiter| !waiter.is_present(now))?;
            Some((session.uuid(), waiter.timeout_reason()))
        }
        _ => None,
    }
}

impl OrgTransaction {
    /// Ends waiting sessions, and records an event for each, in order.
    pub(super) async fn write_departures(
        &mut self,
        environment: &LockedEnvironment,
        departures: &[Departure],
    ) -> Result<(), StoreError> {
        if departures.is_empty() {
            return Ok(());
        }
        let organization = self.organization();
        let ids: Vec<uuid::Uuid> = departures.iter().map(|(session, _)| *session).collect();
        sqlx::query!(
            "update sessions set status = 'canceled', waiting = false, ended_at = $3
             where organization_id = $1 and id = any($2) and status = 'queued'",
            organization,
            &ids,
            jiff_sqlx::Timestamp::from(environment.now) as jiff_sqlx::Timestamp,
        )
        .execute(self.connection())
        .await?;
        for (session, reason) in departures {
            let event = NewEvent {
                event_type: EventType::SessionCanceled,
                subject: environment.subject(),
                before: None,
                after: Some(environment.event_payload((*session).into(), None)),
                reason: reason.map(str::to_owned),
            };
            self.record_event_as(&Actor::System, event).await?;
        }
        Ok(())
    }
}
