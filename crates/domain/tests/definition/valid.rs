//! Valid definitions and their checked form.

use greenroom_domain::definition::{
    Approval, Definition, Diagnostic, ForceReason, ForceRule, HandoverRule, OverrideRole, QueueRule, Scalar,
    StepWork, parse,
};
use greenroom_domain::role::Role;

use super::{ANCHORS, FULL, MINIMAL, STAGES, qa, stage, top};

#[test]
fn the_full_fixture() -> Result<(), Vec<Diagnostic>> {
    insta::assert_json_snapshot!(parse(FULL)?);
    Ok(())
}

/// The store saves the checked definition as JSON, which has to round-trip.
#[test]
fn through_json_and_back() -> Result<(), Box<dyn std::error::Error>> {
    for source in [FULL, MINIMAL, ANCHORS] {
        let definition = parse(source).map_err(|problems| format!("{problems:?}"))?;
        let json = serde_json::to_string(&definition)?;
        assert_eq!(serde_json::from_str::<Definition>(&json)?, definition);
    }
    Ok(())
}

#[test]
fn defaults() -> Result<(), Vec<Diagnostic>> {
    let definition = parse(&format!("{STAGES}ephemeralEnvironments: {{qa: }}\n"))?;
    assert_eq!(definition.version, 1);
    assert_eq!(definition.concurrency, None);
    let stage = definition.stage("build");
    assert_eq!(stage.map(|stage| definition.pool(stage)), Some("default"));
    let settings = definition.ephemeral_settings("qa");
    assert_eq!(settings.map(|settings| settings.lease.default_seconds), Some(4 * 3_600));
    assert_eq!(settings.map(|settings| settings.lease.max_seconds), Some(24 * 3_600));
    assert_eq!(settings.map(|settings| settings.stages.as_slice()), Some(&["build".to_owned()][..]));
    Ok(())
}

#[test]
fn lookups() -> Result<(), Vec<Diagnostic>> {
    let definition = parse(FULL)?;
    assert_eq!(definition.stage("deploy").map(|stage| definition.pool(stage)), Some("big"));
    assert_eq!(definition.stage("build").map(|stage| definition.pool(stage)), Some("default"));
    assert!(definition.stage("nothing").is_none());
    assert!(definition.environment("production").is_some_and(|environment| environment.approval.is_some()));
    let deployed: Vec<_> = definition.deployment_stages().map(|stage| stage.key.as_str()).collect();
    assert_eq!(deployed, ["build", "deploy-preview", "deploy"]);
    let qa = definition.ephemeral_environment("qa-1");
    assert_eq!(qa.and_then(|qa| qa.settings.force).map(|force| force.role), Some(Role::Maintainer));
    Ok(())
}

/// What was stored before an approval could have several rules.
#[test]
fn an_approval_that_was_stored_earlier_is_read_as_one_rule() -> Result<(), Box<dyn std::error::Error>> {
    let stored = r#"{"roles":["admin"],"users":["usr_1"],"count":2,"timeoutSeconds":60,"message":null}"#;
    let approval: Approval = serde_json::from_str(stored)?;
    assert_eq!(serde_json::to_string(&approval)?, stored, "a single rule is stored as before");
    let [rule] = approval.rules.as_slice() else { return Err("not one rule".into()) };
    assert_eq!((rule.count, rule.groups.len()), (2, 0));
    assert_eq!((approval.self_approval, approval.override_role), (false, OverrideRole::Admin));
    Ok(())
}

#[test]
fn templates() -> Result<(), Vec<Diagnostic>> {
    let definition = parse(FULL)?;
    let longest = format!("pr-{}", "1".repeat(60));
    for name in ["pr-1", "pr-a-b", "pr--", longest.as_str()] {
        let template = definition.template_for(name);
        assert_eq!(template.map(|template| template.pattern()), Some("pr-*".to_owned()), "{name}");
        let url = template.and_then(|template| template.settings.url_for(name));
        assert_eq!(url, Some(format!("https://{name}.example.test")));
    }
    let too_long = format!("{longest}1");
    for name in ["pr-", "pr", "qa-1", "pr-*", "pr-A", "pr-1/x", "PR-1", "", too_long.as_str()] {
        assert!(definition.template_for(name).is_none(), "{name}");
    }
    let reserved = parse(&top("ephemeralEnvironments: {'cl*': {max: 1}}"))?;
    assert!(reserved.template_for("claim").is_none());
    assert!(reserved.template_for("class").is_some());
    Ok(())
}

#[test]
fn anchors_and_merges() -> Result<(), Vec<Diagnostic>> {
    let definition = parse(ANCHORS)?;
    let variable = |key: &str| definition.stage(key).and_then(|stage| stage.variables.get("B").cloned());
    assert_eq!(variable("lint").as_deref(), Some("2"));
    assert_eq!(variable("docs").as_deref(), Some("3"));
    assert_eq!(definition.stage("lint").map(|stage| stage.needs.len()), Some(1));
    Ok(())
}

/// Values keep their text, even if YAML would convert them.
#[test]
fn values_as_written() -> Result<(), Box<dyn std::error::Error>> {
    let texts =
        ["no", "yes", "on", "1.10", "010", "0x1F", "1e3", "12:30:00", "2024-01-01", "true", "NaN", ".inf"];
    for text in texts {
        let definition =
            parse(&top(&format!("variables: {{A: {text}}}"))).map_err(|problems| format!("{problems:?}"))?;
        assert_eq!(definition.variables.get("A").map(String::as_str), Some(text));
    }
    let number = |text: &str| serde_json::from_str(text).map(Scalar::Number);
    for (written, expected) in [
        ("3", number("3")?),
        ("-1.5", number("-1.5")?),
        ("true", Scalar::Bool(true)),
        ("True", Scalar::Text("True".into())),
        ("no", Scalar::Text("no".into())),
        ("010", Scalar::Text("010".into())),
        ("0x10", Scalar::Text("0x10".into())),
        ("1e999", Scalar::Text("1e999".into())),
        (".nan", Scalar::Text(".nan".into())),
        ("\"3\"", Scalar::Text("3".into())),
        ("'true'", Scalar::Text("true".into())),
        ("|-\n  3", Scalar::Text("3".into())),
    ] {
        let source =
            format!("stages:\n  a:\n    steps:\n    - uses: a/b@v1\n      with:\n        x: {written}\n");
        let source = source.replace("|-\n  3", "|-\n          3");
        let definition = parse(&source).map_err(|problems| format!("{problems:?}"))?;
        let step = definition.stages.first().and_then(|stage| stage.steps.first());
        let Some(StepWork::Registry { with, .. }) = step.map(|step| &step.work) else {
            return Err(written.into());
        };
        assert_eq!(with.get("x"), Some(&expected), "{written}");
    }
    Ok(())
}

#[test]
fn harmless_variations() {
    let windows = MINIMAL.replace('\n', "\r\n");
    let marked = format!("\u{feff}{MINIMAL}");
    let started = format!("---\n{MINIMAL}");
    let long_key = format!("stages:\n  {}:\n    steps: [{{image: a, run: b}}]\n", "a".repeat(63));
    for source in
        [windows, marked, started, long_key, stage("needs:"), stage("needs: []"), stage("timeout: 24h")]
    {
        assert!(parse(&source).is_ok(), "{source}\n{:?}", parse(&source));
    }
}

#[test]
fn rules_of_force_hand_over_and_queue() -> Result<(), Vec<Diagnostic>> {
    let definition = parse(&qa(
        "force: {role: admin, reason: required}\n    handover: {grace: 10m}\n    queue: {maxStay: 1h 30m}",
    ))?;
    let settings = &definition.ephemeral_environments[0].settings;
    assert_eq!(settings.force, Some(ForceRule { role: Role::Admin, reason: Some(ForceReason::Required) }));
    assert_eq!(settings.handover, Some(HandoverRule { grace_seconds: 600 }));
    assert_eq!(settings.queue, Some(QueueRule { max_stay_seconds: 5_400 }));
    let shown = serde_json::to_value(settings).unwrap_or_default();
    assert_eq!(shown["force"], serde_json::json!({ "role": "admin", "reason": "required" }));
    assert_eq!(shown["handover"], serde_json::json!({ "graceSeconds": 600 }));
    assert_eq!(shown["queue"], serde_json::json!({ "maxStaySeconds": 5_400 }));
    // Definitions that were stored before these rules are still valid.
    let without = parse(&qa("force: {role: admin}"))?;
    let stored = serde_json::to_value(&without.ephemeral_environments[0].settings).unwrap_or_default();
    assert_eq!((stored.get("handover"), stored["force"].get("reason")), (None, None));
    assert_eq!(stored.get("queue"), None);
    Ok(())
}
