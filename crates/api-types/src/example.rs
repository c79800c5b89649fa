//! Examples of environments, sessions and deployments for the API document, as JSON texts. A test compares each
//! of them, field by field, with a response of the server (`crates/server/tests/deployments/examples.rs`).

/// An environment that a session holds and another one waits for, with what is deployed there.
pub const ENVIRONMENT: &str = include_str!("../examples/environment.json");
/// A session that has just claimed an environment and deploys a commit into it.
pub const SESSION: &str = include_str!("../examples/session.json");
/// A session in the queue.
pub const QUEUED_SESSION: &str = include_str!("../examples/queued_session.json");
/// A session that its holder has released.
pub const RELEASED_SESSION: &str = include_str!("../examples/released_session.json");
pub const HISTORY_ENTRY: &str = include_str!("../examples/history_entry.json");
/// A deployment in a session that has succeeded, with its stages and steps.
pub const DEPLOYMENT: &str = include_str!("../examples/deployment.json");
/// A deployment of a whole pipeline that was accepted and has not started.
pub const ACCEPTED_DEPLOYMENT: &str = include_str!("../examples/accepted_deployment.json");
/// The same deployment, canceled while a step was running.
pub const CANCELING_DEPLOYMENT: &str = include_str!("../examples/canceling_deployment.json");
/// The attempts of a stage.
pub const ATTEMPTS: &str = include_str!("../examples/attempts.json");
