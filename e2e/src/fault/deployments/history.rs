//! What clients asked for and what they were told: a request for each deployment.

use uuid::Uuid;

/// What a client did.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) requests: Vec<Request>,
    pub(crate) meddlings: Vec<Meddling>,
}

/// An attempt to cancel, or to try again, what somebody else has deployed. Refused ones are not noted.
#[derive(Clone, Debug)]
pub(crate) struct Meddling {
    pub(crate) user: Uuid,
    pub(crate) deployment: Uuid,
    pub(crate) what: &'static str,
}

#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The commit that only this request asks for.
    pub(crate) commit: String,
    /// What it was sent with; without a key it was sent once.
    pub(crate) key: Option<String>,
    /// The deployments that answers named. The same one each time, if all is well.
    pub(crate) answers: Vec<Uuid>,
}
