//! The ends of waiting sessions that the clock decides: silent ones, and those that may not take their turn. However many they
//! are, they take one update and one insert.

use greenroom_domain::environment::{Command, Effect};
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::session::SessionEnd;

use crate::StoreError;
use crate::change::{Actor, Change};
use crate::lock::LockedEnvironment;
use crate::lock::apply::Doing;

/// A waiting session that ends, and why if it was not silence.
type Departure = (uuid::Uuid, Option<&'static str>);

/// The end of a session that was waiting before, and so has neither a lease nor deployments.
///
/// Whoever leaves the queue by its own command is recorded as such, and is none of these.
pub(super) fn departure(doing: &Doing<'_>, effect: Effect) -> Option<Departure> {
    match effect {
        Effect::Skipped { session, why } => Some((session.uuid(), Some(why.reason()))),
        Effect::Ended { session, end: SessionEnd::Canceled }
            if doing.before.queue.find(session).is_some() && doing.command != Command::Release(session) =>
        {
            Some((session.uuid(), None))
        }
        _ => None,
    }
}

impl Change {
    /// Ends waiting sessions that the clock has ended, and records an event for each, in their order.
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
        let events = departures.iter().map(|(session, reason)| NewEvent {
            event_type: EventType::SessionCanceled,
            subject: environment.subject(),
            before: None,
            after: Some(environment.after((*session).into(), None)),
            reason: reason.map(str::to_owned),
        });
        self.tell_all_as(&Actor::Clock, events.collect()).await
    }
}
