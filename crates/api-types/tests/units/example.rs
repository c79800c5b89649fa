//! The examples of the API document against the types.

use greenroom_api_types::deployment::{Attempt, Deployment};
use greenroom_api_types::environment::Environment;
use greenroom_api_types::example::{
    ACCEPTED_DEPLOYMENT, ATTEMPTS, CANCELING_DEPLOYMENT, DEPLOYMENT, ENVIRONMENT, HISTORY_ENTRY,
    QUEUED_SESSION, RELEASED_SESSION, SESSION,
};
use greenroom_api_types::session::{HistoryEntry, Session};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

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
