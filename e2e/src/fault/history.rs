//! The history that the checker judges: the clients' requests and the responses.

use uuid::Uuid;

use crate::fault::clock::Micros;

/// An index into the fixture's environments.
pub(crate) type Environment = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Claim,
    /// Claims an environment, or joins its queue.
    Queue,
    Force,
    Renew,
    Deploy,
    Release,
    /// Keeps a session's place in the queue, or confirms a grant.
    Heartbeat,
    RequestHandover,
    AcceptHandover,
    DeclineHandover,
    /// Cancels a deployment, the client's own or another user's.
    Cancel,
    GetSession,
    GetEnvironment,
    List,
}

impl Kind {
    /// Returns whether requests of this kind create a session.
    pub(crate) fn is_claim(self) -> bool {
        matches!(self, Self::Claim | Self::Queue | Self::Force)
    }

    /// Returns whether requests of this kind create, renew or end a session, deploy into it, or respond to a
    /// hand-over request. Clients send most of these with an Idempotency-Key, and the checker looks for their
    /// effects in the database. Heartbeats, hand-over requests and cancellations are not among them, although
    /// they change rows too.
    pub(crate) fn is_change(self) -> bool {
        self.is_claim()
            || matches!(self, Self::Renew | Self::Deploy | Self::Release)
            || matches!(self, Self::AcceptHandover | Self::DeclineHandover)
    }

    /// Returns whether requests of this kind confirm a grant from the queue.
    pub(crate) fn is_confirmation(self) -> bool {
        matches!(self, Self::Heartbeat | Self::Renew | Self::Deploy)
    }
}

/// One request and its outcome.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) number: u64,
    /// The `number` of the first attempt of this request. All attempts of a request have the same
    /// Idempotency-Key.
    pub(crate) request: u64,
    pub(crate) client: usize,
    pub(crate) server: usize,
    pub(crate) user: Uuid,
    pub(crate) kind: Kind,
    /// None for a list.
    pub(crate) environment: Option<Environment>,
    /// The session in the request.
    pub(crate) session: Option<Uuid>,
    /// The deployment in the request.
    pub(crate) deployment: Option<Uuid>,
    pub(crate) invoked: Micros,
    pub(crate) returned: Micros,
    pub(crate) outcome: Outcome,
}

#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Ok(Box<Response>),
    /// Definitely nothing was changed.
    Refused(Box<Refused>),
    /// It may have happened, or may happen still.
    Unknown(&'static str),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Response {
    pub(crate) session: Option<SessionView>,
    pub(crate) locks: Vec<(Environment, LockView)>,
    pub(crate) displaced: Option<Uuid>,
    pub(crate) deployment: Option<Uuid>,
}

#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) lock: Option<LockView>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Status {
    Queued,
    Active,
    Released,
    Expired,
    Overridden,
    Canceled,
}

impl Status {
    pub(crate) fn has_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Active)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "queued" => Self::Queued,
            "active" => Self::Active,
            "released" => Self::Released,
            "expired" => Self::Expired,
            "overridden" => Self::Overridden,
            "canceled" => Self::Canceled,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionView {
    pub(crate) id: Uuid,
    pub(crate) status: Status,
    pub(crate) fence: Option<i64>,
    pub(crate) expires_at: Option<Micros>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LockView {
    /// `None` if free.
    pub(crate) held: Option<HeldView>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldView {
    pub(crate) session: Uuid,
    pub(crate) fence: i64,
    pub(crate) expires_at: Micros,
}

impl Op {
    /// Returns a description of the request for the text of a finding.
    pub(crate) fn name(&self) -> String {
        format!(
            "op {} ({:?} by client {} at server {})",
            self.number,
            self.kind,
            self.client,
            self.server + 1
        )
    }

    pub(crate) fn ok(&self) -> Option<&Response> {
        match &self.outcome {
            Outcome::Ok(response) => Some(response),
            _ => None,
        }
    }

    /// Returns whether the request may have changed something.
    pub(crate) fn may_have_happened(&self) -> bool {
        !matches!(self.outcome, Outcome::Refused(_))
    }

    /// A repetition may return the first attempt's response, which shows the state at that time.
    pub(crate) fn is_repetition(&self) -> bool {
        self.number != self.request
    }

    pub(crate) fn refused(&self) -> Option<&Refused> {
        match &self.outcome {
            Outcome::Refused(refused) => Some(refused),
            _ => None,
        }
    }
}

/// A period in which a member had lost the right to hold environments, by demotion or removal. The exact
/// times are unknown: the loss is between `requested` and `since`, the restoration between `until` and
/// `restored`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barred {
    pub(crate) user: Uuid,
    /// The user who did it.
    pub(crate) by: Uuid,
    /// When the demotion or removal was first requested.
    pub(crate) requested: Micros,
    /// When it was certainly in effect.
    pub(crate) since: Micros,
    /// When the restoration of the member was first requested.
    pub(crate) until: Micros,
    /// When the restoration was certainly in effect.
    pub(crate) restored: Micros,
}

impl Barred {
    /// Returns whether the member may have been without the right at some moment of this interval.
    pub(crate) fn may_have_been_between(&self, from: Micros, to: Micros) -> bool {
        self.requested <= to && from <= self.restored
    }
}
