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

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use super::*;
    use crate::deployment::{Attempt, Deployment};
    use crate::environment::Environment;
    use crate::session::{HistoryEntry, Session};

    /// Checks that the text has all fields of the type that a response has, and no others.
    #[track_caller]
    fn has_the_fields_of<T: DeserializeOwned + Serialize>(text: &str) {
        let read: T = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn every_example_has_the_fields_of_its_type() {
        has_the_fields_of::<Environment>(ENVIRONMENT);
        for session in [SESSION, QUEUED_SESSION, RELEASED_SESSION] {
            has_the_fields_of::<Session>(session);
        }
        has_the_fields_of::<HistoryEntry>(HISTORY_ENTRY);
        for deployment in [DEPLOYMENT, ACCEPTED_DEPLOYMENT, CANCELING_DEPLOYMENT] {
            has_the_fields_of::<Deployment>(deployment);
        }
        has_the_fields_of::<Vec<Attempt>>(ATTEMPTS);
    }
}
