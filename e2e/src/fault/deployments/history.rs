//! The clients' requests and the responses: one entry for each deployment.

use uuid::Uuid;

/// What a client did.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) requests: Vec<Request>,
    pub(crate) foreign_actions: Vec<ForeignAction>,
}

/// A cancellation or retry of another user's deployment that was accepted. Rejected ones are not recorded.
#[derive(Clone, Debug)]
pub(crate) struct ForeignAction {
    pub(crate) user: Uuid,
    pub(crate) deployment: Uuid,
    pub(crate) action: &'static str,
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// A commit that no other request uses.
    pub(crate) commit: String,
    /// The idempotency key; without one the request was sent once.
    pub(crate) key: Option<String>,
    /// The deployments that responses named. They must all be the same.
    pub(crate) responses: Vec<Uuid>,
}
