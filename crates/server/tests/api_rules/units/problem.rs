//! A failure as a problem document.

use greenroom_app::failure::{Code, Failure};
use greenroom_server::internals::{PendingProblem, problem_response};
use serde_json::json;

#[test]
fn a_problem_contains_the_suggested_requests() {
    let actions = json!([
        { "action": "queue", "method": "POST", "href": "/api/v1/x/sessions", "path": "sessions", "body": { "queue": true } },
        { "action": "release", "method": "DELETE", "href": "/api/v1/x/sessions/y", "path": "sessions/y" },
    ]);
    let failure = Failure::new(Code::EnvironmentLocked, "It is held.").with("actions", actions.clone());
    let response = problem_response(failure.with("envName", "qa-1".into()));
    let PendingProblem(problem) = response.extensions().get().unwrap();
    assert_eq!(problem.actions.len(), 2);
    assert_eq!(problem.extensions.keys().collect::<Vec<_>>(), ["envName"]);
    assert_eq!(serde_json::to_value(problem).unwrap()["actions"], actions);
}
