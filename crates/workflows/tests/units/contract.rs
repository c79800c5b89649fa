//! Inputs and outputs of activities, as histories contain them.

use greenroom_workflows::{Advanced, AdvancedJob, Subject};
use uuid::Uuid;

#[test]
fn default_fields_are_omitted() {
    assert_eq!(serde_json::to_string(&Advanced::default()).unwrap(), "{}");
    let ended = Advanced { ended: true, ..Advanced::default() };
    assert_eq!(serde_json::to_string(&ended).unwrap(), r#"{"ended":true}"#);
}

#[test]
fn json_round_trips() {
    let job = AdvancedJob { job_id: Uuid::from_u128(1).into(), pool_id: Uuid::from_u128(2).into() };
    let advanced = Advanced {
        ended: false,
        missing: true,
        dispatch: vec![job],
        withdrawn: vec![Uuid::from_u128(3).into()],
        again_in_millis: Some(1_500),
    };
    let text = serde_json::to_string(&advanced).unwrap();
    assert_eq!(serde_json::from_str::<Advanced>(&text).unwrap(), advanced);
}

#[test]
fn a_subject_of_an_old_workflow_has_no_installation() {
    let text = r#"{"organization_id":"org_00000000-0000-0000-0000-000000000001",
                   "deployment_id":"dep_00000000-0000-0000-0000-000000000002"}"#;
    let subject: Subject = serde_json::from_str(text).unwrap();
    assert_eq!(subject.installation_id, None);
    assert_eq!(serde_json::to_string(&subject).unwrap(), text.replace([' ', '\n'], ""));
    let named = Subject { installation_id: Some(Uuid::from_u128(3).into()), ..subject };
    let text = serde_json::to_string(&named).unwrap();
    assert_eq!(serde_json::from_str::<Subject>(&text).unwrap(), named);
}

#[test]
fn an_id_of_another_type_is_rejected() {
    let text = r#"{"organization_id":"dep_00000000-0000-0000-0000-000000000001",
                   "deployment_id":"dep_00000000-0000-0000-0000-000000000001"}"#;
    assert!(serde_json::from_str::<Subject>(text).is_err());
}
