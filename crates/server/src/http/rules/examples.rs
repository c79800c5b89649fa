//! Examples for the OpenAPI document: ids, names and bodies like those of the demo data. Swagger UI fills its
//! forms with them, so sending an example unchanged must do no harm.

use serde_json::{Value, json};
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::schema::{ArrayItems, SchemaType};
use utoipa::openapi::{Components, Object, RefOr, Schema, Type};

const COMMIT: &str = "9f3c2a1b7d4e8f60512a3b4c5d6e7f8091a2b3c4";
const ORGANIZATION: &str = "org_0190a0b0-0000-7000-8000-000000000001";
const USER: &str = "usr_0190a0b0-0000-7000-8000-000000000001";
const SERVICE_ACCOUNT: &str = "usr_0190a0b0-0000-7000-8000-000000000002";
const PIPELINE: &str = "pip_0190a0b0-0000-7000-8000-000000000001";
const SESSION: &str = "ses_0190a0b0-0000-7000-8000-000000000001";
const DEPLOYMENT: &str = "dep_0190a0b0-0000-7000-8000-000000000001";
const DEPLOYMENT_PAGE: &str =
    "https://greenroom.example.com/o/acme/deployments/dep_0190a0b0-0000-7000-8000-000000000001";

const DEFINITION: &str = "\
ephemeralEnvironments:
  qa-1: { stages: [deploy], lease: { default: 4h } }
stages:
  deploy:
    only: ephemeral
    steps:
      - { name: roll out, image: \"alpine:3\", run: ./deploy }
";

const SUBJECT_DIGEST: &str = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

const SIGNER: &str =
    "releases@example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";

/// Examples for path variables.
const PATH_VARIABLES: &[(&str, &str)] = &[
    ("orgId", "acme"),
    ("pipelineId", "storefront"),
    ("envName", "qa-1"),
    ("environmentName", "production"),
    ("sessionId", SESSION),
    ("deploymentId", DEPLOYMENT),
    ("stageKey", "deploy"),
    ("stepRunId", "stp_0190a0b0-0000-7000-8000-000000000001"),
    ("runnerId", "run_0190a0b0-0000-7000-8000-000000000001"),
    ("poolName", "default"),
    ("secretId", "sec_0190a0b0-0000-7000-8000-000000000001"),
    ("freezeId", "frz_0190a0b0-0000-7000-8000-000000000001"),
    ("registryId", "reg_0190a0b0-0000-7000-8000-000000000001"),
    ("forgeName", "github"),
    ("stepName", "roll-out"),
    ("stepVersion", "2.3.0"),
    ("groupId", "grp_0190a0b0-0000-7000-8000-000000000001"),
    ("analysisId", "ana_0190a0b0-0000-7000-8000-000000000001"),
    ("fixId", "fix_0190a0b0-0000-7000-8000-000000000001"),
    ("approvalId", "apr_0190a0b0-0000-7000-8000-000000000001"),
    ("fingerprint", "fp_1e81c80184316ccc0c3239cff5357"),
    ("tokenId", "tok_0190a0b0-0000-7000-8000-000000000001"),
    ("userId", USER),
    ("serviceAccountId", SERVICE_ACCOUNT),
    ("policyId", "tru_0190a0b0-0000-7000-8000-000000000001"),
    ("provider", "example"),
    ("eventId", "evt_0190a0b0-0000-7000-8000-000000000001"),
];

/// Examples for string fields, by schema and field. They take precedence over `FIELDS`.
const SCHEMA_FIELDS: &[(&str, &str, &str)] = &[
    ("ApiToken", "name", "ci/storefront"),
    ("Cache", "key", "cargo-2026-11"),
    ("Deployment", "webUrl", DEPLOYMENT_PAGE),
    (
        "Environment",
        "webUrl",
        "https://greenroom.example.com/o/acme/pipelines/pip_0190a0b0-0000-7000-8000-000000000001/environments/qa-1",
    ),
    ("Holder", "id", USER),
    ("Holder", "token", "ci/storefront"),
    ("LastDeployment", "id", DEPLOYMENT),
    ("MyToken", "id", "tok_0190a0b0-0000-7000-8000-000000000001"),
    ("Organization", "name", "Acme"),
    ("Organization", "slug", "acme"),
    ("Person", "id", USER),
    (
        "Pipeline",
        "webUrl",
        "https://greenroom.example.com/o/acme/pipelines/pip_0190a0b0-0000-7000-8000-000000000001",
    ),
    ("PipelineAuthor", "id", USER),
    ("PipelineStop", "by", USER),
    ("PipelineStop", "reason", "The payment provider is down"),
    ("Runner", "name", "runner-1"),
    ("RunnerPool", "id", "pol_0190a0b0-0000-7000-8000-000000000001"),
    ("RunnerPool", "name", "default"),
    (
        "Session",
        "webUrl",
        "https://greenroom.example.com/o/acme/pipelines/pip_0190a0b0-0000-7000-8000-000000000001/environments/qa-1\
         /sessions/ses_0190a0b0-0000-7000-8000-000000000001",
    ),
    ("ServiceAccount", "description", "Tries every pull request"),
    ("ServiceAccount", "name", "storefront-ci"),
    ("SessionDeployment", "webUrl", DEPLOYMENT_PAGE),
    ("Stage", "name", "deploy"),
    ("StepRun", "name", "roll out"),
    ("TrustPolicy", "audience", "https://greenroom.example.com"),
    ("TrustPolicy", "name", "storefront, main"),
];

/// Examples for string fields, by field.
const FIELDS: &[(&str, &str)] = &[
    ("branch", "main"),
    ("commitId", COMMIT),
    ("context", "Checkout fix"),
    ("definition", DEFINITION),
    ("deploymentId", DEPLOYMENT),
    ("digest", "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c"),
    ("email", "ada@example.com"),
    ("envName", "qa-1"),
    ("key", "deploy"),
    ("name", "Ada Lovelace"),
    ("organizationId", ORGANIZATION),
    ("organizationSlug", "acme"),
    ("pipeline", "storefront"),
    ("pipelineId", PIPELINE),
    ("pool", "default"),
    ("previousSessionId", "ses_0190a0b0-0000-7000-8000-000000000000"),
    ("repository", "https://git.example.com/acme/storefront.git"),
    ("requestId", "req_0190a0b0-0000-7000-8000-000000000001"),
    ("runner", "runner-1"),
    ("sessionId", SESSION),
    ("slug", "storefront"),
    ("url", "https://qa-1.example.com"),
    ("userId", USER),
    ("userName", "Ada Lovelace"),
    ("version", "0.1.0"),
];

/// Examples for complete request bodies, by schema.
fn body(schema: &str) -> Option<Value> {
    Some(match schema {
        "AddMember" => json!({ "email": "ada@example.com", "name": "Ada Lovelace", "role": "developer" }),
        "Approve" => json!({ "subjectDigest": SUBJECT_DIGEST, "comment": "Checked on staging" }),
        "WriteFailureNote" => json!({ "text": "The registry is down on Sundays: retry" }),
        "Reject" => json!({ "subjectDigest": SUBJECT_DIGEST, "comment": "The migration is not reversible" }),
        "OverrideGates" => json!({ "reason": "Fixes the outage", "gates": ["approval", "freeze"] }),
        "CancelDeployment" => json!({ "force": false }),
        "ChangePassword" => json!({ "newPassword": "orbit-lantern-quartz-42" }),
        "ClaimFromPool" => {
            json!({ "labels": ["qa"], "commitId": COMMIT, "context": "Checkout fix", "ttlSeconds": 3600 })
        }
        "ClaimSession" => json!({ "commitId": COMMIT, "context": "Checkout fix", "ttlSeconds": 3600 }),
        "CreateAnalysis" => json!({ "stage": "deploy" }),
        "CreateApiToken" => json!({ "name": "ci/storefront", "kind": "ci" }),
        "CreateDeployment" => json!({ "commitId": COMMIT }),
        "CreateFixPullRequest" => {
            json!({ "source": "commit", "commitId": COMMIT, "branch": "fix-migration" })
        }
        "CreatePipeline" => json!({
            "name": "Guestbook",
            "repository": "https://git.example.com/acme/guestbook.git",
            "definition": DEFINITION,
        }),
        "CreateSecret" => {
            json!({ "name": "shop-deploy-key", "pipelineId": "storefront", "value": "orbit-lantern-quartz" })
        }
        "HoldEnvironment" => json!({
            "reason": "Migrating the database by hand",
            "until": "2026-11-17T18:00:00Z",
        }),
        "CreateFreeze" => json!({
            "name": "Weekends",
            "reason": "Nobody is on call",
            "environments": ["production"],
            "weekly": [{ "from": "fri 16:00", "to": "mon 08:00" }],
            "zone": "Europe/Berlin",
        }),
        "CreateServiceAccount" => {
            json!({ "name": "storefront-ci", "role": "developer", "description": "Tries every pull request" })
        }
        "CreateServiceAccountToken" => json!({ "name": "ci/storefront", "kind": "ci", "maxSessions": 3 }),
        "CreateGroup" => {
            json!({ "name": "release-managers", "description": "Who may deploy to production" })
        }
        "CreateStepRegistry" => json!({
            "name": "acme",
            "url": "https://git.example.com/acme/steps.git",
            "signers": [SIGNER],
            "requireSignature": true,
            "minimumAgeSeconds": 86_400,
        }),
        "CreateForge" => json!({
            "name": "github",
            "kind": "github",
            "address": "https://api.github.com",
            "repositories": ["github.com/acme"],
            "credential": { "token": "github_pat_11AAAAAAA0example" },
        }),
        "CreateTrustPolicy" => json!({
            "name": "storefront, main",
            "issuer": "https://token.actions.githubusercontent.com",
            "claims": { "repository_id": "740123456", "ref": "refs/heads/main" },
            "pipelines": [PIPELINE],
            "ttlSeconds": 3600,
        }),
        "CreateRunner" => json!({ "name": "runner-1", "pool": "default" }),
        "DeclineHandover" => json!({ "context": "Five more minutes" }),
        "DeployCommit" => json!({ "commitId": COMMIT }),
        "ForceClaim" => json!({ "commitId": COMMIT, "context": "The shop is down", "ttlSeconds": 3600 }),
        "GiveAnalysisFeedback" => json!({ "helpful": true, "comment": "It was the migration" }),
        "GiveUp" => json!({ "reason": "Its machine is gone" }),
        "LinkSignIn" => json!({ "code": "0".repeat(64) }),
        "NoticesRead" => json!({ "until": "2026-11-16T12:00:00Z" }),
        "PasswordSignIn" => json!({ "email": "ada@example.com", "password": "orbit-lantern-quartz-42" }),
        "SetUp" => json!({
            "code": "0".repeat(64), "organizationName": "Acme", "organizationSlug": "acme", "name": "Ada Lovelace",
            "email": "ada@example.com",
        }),
        "RepeatCleanup" => json!({ "commitId": COMMIT }),
        "RequestHandover" => json!({ "context": "Checkout fix", "graceSeconds": 300 }),
        "ResolveStep" => json!({ "uses": "acme/roll-out@v2" }),
        "ResumePipeline" => json!({ "reason": "The payment provider is back" }),
        "RetryStage" => json!({ "inputs": "same" }),
        "SetGrant" => json!({ "role": "developer" }),
        "SetSecretValue" => json!({ "value": "orbit-lantern-quartz-2", "staged": true }),
        "StopPipeline" => json!({ "mode": "pause", "reason": "The payment provider is down" }),
        "TransferSession" => json!({ "userId": USER }),
        "UpdateAnalysisSettings" => json!({
            "enabled": true,
            "protocol": "openai",
            "address": "https://api.openai.com/v1",
            "model": "gpt-5-mini",
            "credential": { "token": "key-1-of-the-example" },
            "maxRequestsPerDay": 100,
            "maxCostMicrosPerMonth": 25_000_000,
            "inputPriceMicros": 250_000,
            "outputPriceMicros": 2_000_000,
        }),
        "UpdateForge" => json!({ "repositories": ["github.com/acme/storefront"] }),
        "UpdateFreeze" => json!({ "weekly": [{ "from": "fri 18:00", "to": "mon 08:00" }] }),
        "UpdateGroup" => json!({ "description": "Who may deploy to production" }),
        "UpdateMember" => json!({ "role": "maintainer" }),
        "UpdateOrganization" => json!({ "name": "Acme" }),
        "UpdatePipeline" => json!({ "name": "Storefront" }),
        "UpdateSecret" => json!({ "description": "Deploys the shop" }),
        "UpdateServiceAccount" => json!({ "role": "maintainer" }),
        "UpdateStepRegistry" => json!({ "minimumAgeSeconds": 86_400 }),
        "YankStepVersion" => json!({ "reason": "Deletes the wrong replicas" }),
        "UpdateRunnerPool" => json!({ "network": "bridge" }),
        "ValidateDefinition" => json!({ "definition": DEFINITION }),
        _ => return None,
    })
}

pub fn complete_path(operation: &mut Operation) {
    for parameter in operation.parameters.iter_mut().flatten() {
        let RefOr::T(parameter) = parameter else { continue };
        let example = PATH_VARIABLES.iter().find(|(name, _)| *name == parameter.name);
        if let (ParameterIn::Path, Some((_, example)), Some(RefOr::T(Schema::Object(schema)))) =
            (&parameter.parameter_in, example, &mut parameter.schema)
        {
            schema.example = Some((*example).into());
        }
    }
}

pub fn complete_schemas(components: &mut Components) {
    for (name, schema) in &mut components.schemas {
        // `List_Session` contains sessions.
        let schema_name = name.rsplit('_').next().unwrap_or_default();
        fill_examples(schema_name, schema);
        if let (RefOr::T(Schema::Object(object)), Some(example)) = (schema, body(name)) {
            object.example = Some(example);
        }
    }
}

/// Sets the examples of string fields, recursively.
fn fill_examples(schema_name: &str, schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::T(Schema::Object(object)) => {
            for (field, value) in &mut object.properties {
                match value {
                    RefOr::T(Schema::Object(text)) if takes_example(text) => {
                        text.example = example_of(schema_name, field);
                    }
                    deeper => fill_examples(schema_name, deeper),
                }
            }
        }
        RefOr::T(Schema::Array(array)) => {
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                fill_examples(schema_name, items);
            }
        }
        RefOr::T(Schema::AllOf(all)) => {
            all.items.iter_mut().for_each(|item| fill_examples(schema_name, item));
        }
        RefOr::T(Schema::OneOf(one)) => {
            one.items.iter_mut().for_each(|item| fill_examples(schema_name, item));
        }
        _ => {}
    }
}

fn takes_example(schema: &Object) -> bool {
    let is_text = match &schema.schema_type {
        SchemaType::Type(only) => *only == Type::String,
        SchemaType::Array(several) => several.contains(&Type::String),
        SchemaType::AnyValue => false,
    };
    is_text && schema.example.is_none() && schema.enum_values.is_none() && schema.format.is_none()
}

fn example_of(schema_name: &str, field: &str) -> Option<Value> {
    let own = SCHEMA_FIELDS.iter().find(|(schema, name, _)| *schema == schema_name && *name == field);
    let common = || FIELDS.iter().find(|(name, _)| *name == field).map(|(_, text)| text);
    own.map(|(_, _, text)| text).or_else(common).map(|text| (*text).into())
}
