//! Values that a newer version has added to an enum, and the schema of open enums.

use greenroom_api_types::deployment_status::{DeploymentReason, DeploymentStatus};
use greenroom_domain::deployment as domain;
use serde_json::json;
use utoipa::{PartialSchema, ToSchema};

#[test]
fn an_unknown_value_is_accepted_and_kept() {
    for (text, known) in [("queued", Some(domain::DeploymentStatus::Queued)), ("rolling_back", None)] {
        let status: DeploymentStatus = serde_json::from_value(json!(text)).unwrap();
        assert_eq!((status.known(), status.as_str()), (known, text));
        assert_eq!(serde_json::to_value(&status).unwrap(), json!(text));
    }
    assert!(serde_json::from_value::<DeploymentStatus>(json!(1)).is_err());
}

#[test]
fn the_schema_lists_the_values_and_that_there_may_be_more() {
    let schema = serde_json::to_value(DeploymentStatus::schema()).unwrap();
    let texts: Vec<_> = domain::DeploymentStatus::ALL.iter().map(|status| status.as_str()).collect();
    assert_eq!((&schema["type"], &schema["enum"]), (&json!("string"), &json!(texts)));
    assert_eq!(schema["x-extensible-enum"], schema["enum"]);
    let description = schema["description"].as_str().unwrap();
    let end = "Final: `succeeded`, `failed`, `errored`, `canceled`, `superseded`. Clients must accept values that are \
               not listed.";
    assert!(description.ends_with(end), "{description}");
    let reason = serde_json::to_value(DeploymentReason::schema()).unwrap();
    assert!(!reason["description"].as_str().unwrap().contains("Final"), "{reason}");
    assert_eq!(DeploymentReason::name(), "DeploymentReason");
}
