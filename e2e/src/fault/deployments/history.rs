//! What clients asked for and what they were told: a request for each deployment.

use uuid::Uuid;

#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The commit that only this request asks for.
    pub(crate) commit: String,
    /// What it was sent with; without a key it was sent once.
    pub(crate) key: Option<String>,
    /// The deployments that answers named. The same one each time, if all is well.
    pub(crate) answers: Vec<Uuid>,
}
