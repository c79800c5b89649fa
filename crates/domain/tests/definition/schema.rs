//! The JSON Schema for editors: it is committed in a file, complete, and agrees with the parser.

use std::error::Error;
use std::path::PathBuf;

use greenroom_domain::definition::{json_schema, parse};
use serde_json::Value;

use super::{ANCHORS, FULL, MINIMAL, only_step, qa, stage, step, top};

fn committed() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../openapi/pipeline-definition.schema.json")
}

fn as_json(source: &str) -> Result<Value, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(source, serde_saphyr::options! { strict_booleans: true })
}

/// `UPDATE_SCHEMA=1 cargo nextest run -p greenroom-domain schema` updates it.
#[test]
fn the_committed_file_is_current() -> Result<(), Box<dyn Error>> {
    let current = format!("{}\n", serde_json::to_string_pretty(&json_schema())?);
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::create_dir_all(committed().parent().ok_or("no directory")?)?;
        std::fs::write(committed(), &current)?;
    }
    let written = std::fs::read_to_string(committed())?;
    assert!(written == current, "openapi/pipeline-definition.schema.json is old: run with UPDATE_SCHEMA=1");
    Ok(())
}

#[test]
fn it_has_an_id_and_a_title() {
    let schema = json_schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["$id"], "/api/v1/schemas/pipeline-definition.json");
    assert_eq!(schema["title"], "Greenroom pipeline definition, version 1");
}

/// Every field has a description, and no other field is allowed.
#[test]
fn every_field_is_described() -> Result<(), Box<dyn Error>> {
    let schema = json_schema();
    let parts = schema["$defs"].as_object().ok_or("no parts")?;
    let mut fields = 0;
    for (name, part) in parts.iter().map(|(name, part)| (name.as_str(), part)).chain([("root", &schema)]) {
        assert_eq!(part["additionalProperties"], false, "{name}");
        assert!(part["description"].is_string(), "{name}");
        for (field, value) in part["properties"].as_object().ok_or("no fields")? {
            assert!(value["description"].as_str().is_some_and(|text| text.len() > 10), "{name}.{field}");
            fields += 1;
        }
    }
    assert_eq!(fields, 76);
    assert!(!schema.to_string().contains("\"null\""));
    Ok(())
}

#[test]
fn it_accepts_valid_definitions() -> Result<(), Box<dyn Error>> {
    let validator = jsonschema::validator_for(&json_schema())?;
    let sources =
        [FULL.to_owned(), MINIMAL.to_owned(), ANCHORS.to_owned(), stage("timeout: 24h"), qa("labels: []")];
    for source in sources {
        assert!(parse(&source).is_ok(), "{source}");
        let json = as_json(&source)?;
        let problems: Vec<String> = validator.iter_errors(&json).map(|problem| problem.to_string()).collect();
        assert!(problems.is_empty(), "{source}\n{problems:?}");
    }
    Ok(())
}

#[test]
fn it_rejects_invalid_definitions() -> Result<(), Box<dyn Error>> {
    let validator = jsonschema::validator_for(&json_schema())?;
    for source in [
        "{}".to_owned(),
        "stages: {}".to_owned(),
        "stages: {Build: {steps: [{image: a, run: b}]}}".to_owned(),
        "stages: {build: {}}".to_owned(),
        "stages: {build: {steps: []}}".to_owned(),
        top("version: 2"),
        top("nmae: x"),
        top("concurrency: 0"),
        top("concurrency: 101"),
        top("runner: {}"),
        top("runner: {pool: Big}"),
        top("variables: {1A: x}"),
        top("variables: {A: [x]}"),
        top("environments: {production: {approval: {}}}"),
        top("environments: {production: {approval: {roles: []}}}"),
        top("environments: {production: {url: example.test}}"),
        stage("needs: build"),
        stage("timeout: soon"),
        stage("approval: {roles: [viewer]}"),
        stage("approval: {rules: []}"),
        stage("approval: {rules: [{}]}"),
        stage("approval: {rules: [{roles: [admin]}], count: 2}"),
        stage("approval: {rules: [{groups: [Security]}]}"),
        stage("approval: {roles: [admin], selfApproval: maybe}"),
        stage("approval: {roles: [admin], override: developer}"),
        stage("shell: bash"),
        stage("artifacts: ['']"),
        stage("caches: [{key: a}]"),
        stage("caches: [{paths: [a]}]"),
        stage("caches: [{key: a, paths: []}]"),
        stage("caches: [{key: '..', paths: [a]}]"),
        stage("caches: [{key: a, path: [a]}]"),
        step("uses: a/b@v1"),
        step("with: {a: 1}"),
        step("secrets: [API_KEY]"),
        step("secrets: {A: Deploy Key}"),
        step("idTokens: [TOKEN]"),
        step("idTokens: {A: a b}"),
        step("idTokens: {A: ''}"),
        step("idTokens: {A: {audience: a}}"),
        step("retry: {}"),
        step("retry: {attempts: 11}"),
        only_step("image: a"),
        only_step("run: b"),
        only_step("uses: a/b"),
        only_step("{uses: a/b@v1, image: a}"),
        only_step("{uses: a/b@v1, with: {a: [1]}}"),
        qa("max: 0"),
        qa("force: {role: viewer}"),
        qa("stages: []"),
        top("ephemeralEnvironments: {'p*r': {max: 1}}"),
    ] {
        assert!(parse(&source).is_err(), "{source}");
        assert!(!validator.is_valid(&as_json(&source)?), "{source}");
    }
    Ok(())
}
