//! What started a deployment.

use crate::text_enum::text_enum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// A session was claimed with a commit, or a commit was deployed into it.
    Session,
    /// A request for a deployment of the whole pipeline.
    Api,
    /// The end of a session, or a repeated clean-up.
    Teardown,
}

text_enum!(Trigger { Session = "session", Api = "api", Teardown = "teardown" });
