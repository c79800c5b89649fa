//! What the clients asked and what they were told: the history that the checker judges.

use uuid::Uuid;

use crate::fault::clock::Micros;

/// Which of the world's environments.
pub(crate) type Environment = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Claim,
    /// Claim, or wait for the turn.
    Queue,
    Force,
    Renew,
    Deploy,
    Release,
    /// Keeps a place, confirms a turn.
    Heartbeat,
    RequestHandover,
    AcceptHandover,
    DeclineHandover,
    /// Of a deployment, its own or another's.
    Cancel,
    GetSession,
    GetEnvironment,
    List,
}

impl Kind {
    /// Asks for a session of its own.
    pub(crate) fn claims(self) -> bool {
        matches!(self, Self::Claim | Self::Queue | Self::Force)
    }

    pub(crate) fn changes(self) -> bool {
        self.claims()
            || matches!(self, Self::Renew | Self::Deploy | Self::Release)
            || matches!(self, Self::AcceptHandover | Self::DeclineHandover)
    }

    /// Whoever does this in a granted session shows that it is there.
    pub(crate) fn confirms(self) -> bool {
        matches!(self, Self::Heartbeat | Self::Renew | Self::Deploy)
    }
}

/// One request and its outcome.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) number: u64,
    /// The number of the first attempt; attempts with the same one carry the same Idempotency-Key.
    pub(crate) request: u64,
    pub(crate) client: usize,
    pub(crate) server: usize,
    pub(crate) user: Uuid,
    pub(crate) kind: Kind,
    /// None for a list.
    pub(crate) environment: Option<Environment>,
    /// The session that was asked about.
    pub(crate) session: Option<Uuid>,
    /// The deployment that was asked about.
    pub(crate) deployment: Option<Uuid>,
    pub(crate) invoked: Micros,
    pub(crate) returned: Micros,
    pub(crate) outcome: Outcome,
}

#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Ok(Box<Answer>),
    /// Definitely nothing was changed.
    Refused(Box<Refused>),
    /// It may have happened, or may happen still.
    Unknown(&'static str),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
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

    pub(crate) fn named(word: &str) -> Option<Self> {
        Some(match word {
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
    /// None: free.
    pub(crate) held: Option<HeldView>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldView {
    pub(crate) session: Uuid,
    pub(crate) fence: i64,
    pub(crate) expires_at: Micros,
}

impl Op {
    /// For a finding's text.
    pub(crate) fn name(&self) -> String {
        format!(
            "op {} ({:?} by client {} at server {})",
            self.number,
            self.kind,
            self.client,
            self.server + 1
        )
    }

    pub(crate) fn ok(&self) -> Option<&Answer> {
        match &self.outcome {
            Outcome::Ok(answer) => Some(answer),
            _ => None,
        }
    }

    /// May have changed something.
    pub(crate) fn may_have_happened(&self) -> bool {
        !matches!(self.outcome, Outcome::Refused(_))
    }

    /// A repetition may be given the first attempt's answer, which says how things were then.
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

/// A time in which a member was demoted or removed, as far as is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Barred {
    pub(crate) user: Uuid,
    /// Who did it.
    pub(crate) by: Uuid,
    /// When it was first asked for, and from when on it was definitely so.
    pub(crate) asked: Micros,
    pub(crate) since: Micros,
    /// When the way back was first asked for, and from when on it was definitely open.
    pub(crate) until: Micros,
    pub(crate) over: Micros,
}

impl Barred {
    /// Whether it may have been so at some moment between these.
    pub(crate) fn may_have_been_between(&self, from: Micros, to: Micros) -> bool {
        self.asked <= to && from <= self.over
    }
}
