//! The expected events of a step: the machine's effects, and their consequences for deployments.

use greenroom_domain::environment::Effect;
use greenroom_domain::event::EventType;
use greenroom_domain::id::SessionId;
use greenroom_domain::session::SessionEnd;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedEvent {
    pub event_type: EventType,
    pub session: SessionId,
    pub fence: Option<i64>,
    /// `None` for the system.
    pub by: Option<usize>,
    pub reason: Option<String>,
}

impl ExpectedEvent {
    /// `waited` is whether the session was in the queue before.
    pub fn effect(effect: Effect, by: Option<usize>, waited: bool, reason: Option<String>) -> Self {
        let (event_type, session, fence) = match effect {
            Effect::Queued { session } => (EventType::SessionQueued, session, None),
            Effect::Granted { session, fence } if waited => (EventType::SessionGranted, session, Some(fence)),
            Effect::Granted { session, fence } => (EventType::SessionClaimed, session, Some(fence)),
            Effect::Ended { session, end } => (ended(end), session, None),
            Effect::Skipped { session, .. } => (EventType::SessionCanceled, session, None),
            Effect::HandoverRequested { session, .. } => (EventType::SessionHandoverRequested, session, None),
            Effect::HandoverDeclined { session, .. } => (EventType::SessionHandoverDeclined, session, None),
            Effect::HandoverLapsed { session, .. } => (EventType::SessionHandoverLapsed, session, None),
        };
        Self { event_type, session, fence, by, reason }
    }

    pub fn deployment(event_type: EventType, session: SessionId, by: Option<usize>) -> Self {
        Self { event_type, session, fence: None, by, reason: None }
    }

    pub fn is_of_deployment(&self) -> bool {
        matches!(self.event_type, EventType::DeploymentQueued | EventType::DeploymentCanceled)
    }
}

fn ended(end: SessionEnd) -> EventType {
    match end {
        SessionEnd::Released => EventType::SessionReleased,
        SessionEnd::Expired => EventType::SessionExpired,
        SessionEnd::Overridden => EventType::SessionOverridden,
        SessionEnd::Canceled => EventType::SessionCanceled,
    }
}
