//! The bodies of the requests in the table of operations.

use serde_json::{Value, json};

use crate::support::{DEFINITION, in_hours};

/// Placeholder in a body for the id of the organization's first owner, who is no caller in the matrix.
pub const OWNER: &str = "{owner}";
/// In a body, it is replaced by the digest that a vote has to name.
pub const DIGEST: &str = "{digest}";
/// Placeholder in a body for the id of a pipeline of the organization.
pub const PIPELINE_ID: &str = "{pipeline}";

pub fn none(_: &str) -> Value {
    Value::Null
}

pub fn password(name: &str) -> Value {
    json!({ "newPassword": format!("orbit-lantern-quartz-{name}") })
}

pub fn wrong_password(name: &str) -> Value {
    json!({ "email": format!("{name}@nobody.test"), "password": "not the password" })
}

pub fn wrong_code(_: &str) -> Value {
    json!({ "code": "0".repeat(64) })
}

/// Marks nothing.
pub fn until(_: &str) -> Value {
    json!({ "until": "2020-01-01T00:00:00Z" })
}

pub fn set_up(_: &str) -> Value {
    json!({
        "code": "0".repeat(64), "organizationName": "Other", "organizationSlug": "other", "name": "Other One",
        "email": "other@example.test",
    })
}

pub fn named(name: &str) -> Value {
    json!({ "name": format!("Name {name}") })
}

pub fn member(name: &str) -> Value {
    json!({ "email": format!("{name}@added.test"), "name": "Added", "role": "viewer" })
}

pub fn service_account(name: &str) -> Value {
    json!({ "name": format!("Account {name}"), "role": "developer" })
}

pub fn trust_policy(name: &str) -> Value {
    json!({
        "name": format!("Policy {name}"),
        "issuer": "https://issuer.example",
        "claims": { "sub": "build" },
        "pipelines": [PIPELINE_ID],
    })
}

pub fn developer(_: &str) -> Value {
    json!({ "role": "developer" })
}

pub fn maintainer(_: &str) -> Value {
    json!({ "role": "maintainer" })
}

pub fn group(name: &str) -> Value {
    json!({ "name": name })
}

pub fn pipeline(name: &str) -> Value {
    json!({ "name": format!("Pipeline {name}"), "definition": DEFINITION })
}

pub fn secret(name: &str) -> Value {
    json!({ "name": name, "value": format!("value of {name}") })
}

pub fn hold(name: &str) -> Value {
    json!({ "reason": name, "until": in_hours(1) })
}

pub fn freeze(name: &str) -> Value {
    let weekly = json!([{ "from": "fri 16:00", "to": "mon 08:00" }]);
    json!({ "name": name, "reason": "Nobody is on call", "weekly": weekly, "zone": "Europe/Berlin" })
}

pub fn registry(name: &str) -> Value {
    json!({ "name": name, "url": "https://git.example.com/acme/steps.git" })
}

pub fn forge(name: &str) -> Value {
    let credential = json!({ "token": "github_pat_example" });
    json!({ "name": name, "kind": "github", "address": "https://api.github.com", "credential": credential })
}

pub fn model_limit(_: &str) -> Value {
    json!({ "maxRequestsPerDay": 100 })
}

pub fn repositories(_: &str) -> Value {
    json!({ "repositories": ["github.com/acme"] })
}

pub fn aged(_: &str) -> Value {
    json!({ "minimumAgeSeconds": 60 })
}

pub fn uses(_: &str) -> Value {
    json!({ "uses": "acme/roll-out@v1" })
}

pub fn agreed(_: &str) -> Value {
    json!({ "subjectDigest": DIGEST })
}

pub fn disagreed(name: &str) -> Value {
    json!({ "subjectDigest": DIGEST, "comment": name })
}

pub fn overridden(name: &str) -> Value {
    json!({ "reason": name, "gates": ["approval"] })
}

pub fn described(name: &str) -> Value {
    json!({ "description": format!("For {name}") })
}

pub fn value(name: &str) -> Value {
    json!({ "value": format!("value of {name}") })
}

pub fn because(name: &str) -> Value {
    json!({ "reason": format!("because {name}") })
}

pub fn labels(_: &str) -> Value {
    json!({ "labels": ["web"] })
}

pub fn to_owner(_: &str) -> Value {
    json!({ "userId": OWNER })
}

pub fn commit(_: &str) -> Value {
    json!({ "commitId": "0123abc" })
}

pub fn network(_: &str) -> Value {
    json!({ "network": "none" })
}

pub fn definition(_: &str) -> Value {
    json!({ "definition": DEFINITION })
}

pub fn helpful(_: &str) -> Value {
    json!({ "helpful": true })
}

pub fn fix(_: &str) -> Value {
    json!({ "source": "commit", "commitId": "f".repeat(40), "branch": "fix" })
}

pub fn note(_: &str) -> Value {
    json!({ "text": "retry" })
}
