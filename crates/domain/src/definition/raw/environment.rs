//! Raw environments: lasting and ephemeral ones.

use schemars::JsonSchema;
use serde::Deserialize;

use super::super::located::Located;
use super::super::{duration, limits, name_rules, url};
use super::{Approval, Variables};

/// An environment that lasts. A stage deploys to it by naming it as its `environment`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "Environment")]
pub(in crate::definition) struct Lasting {
    /// Its address, for people. `{name}` is replaced by the environment's name.
    #[schemars(regex(pattern = url::PATTERN), length(max = limits::URL_BYTES))]
    pub(in crate::definition) url: Option<Located<String>>,

    /// The branches that may be deployed here: the checkout proves that the commit is on one of them. Without it the commit
    /// has to be on some branch of the repository.
    #[schemars(length(min = 1, max = limits::BRANCHES), inner(length(min = 1, max = 255)))]
    pub(in crate::definition) branches: Option<Located<Vec<Located<String>>>>,

    /// Who has to agree before a stage deploys here.
    pub(in crate::definition) approval: Option<Located<Approval>>,

    /// Who may start or retry a stage that deploys here. Without it: everyone who may start a deployment.
    pub(in crate::definition) deploy: Option<Located<Deploy>>,

    /// Environment variables for each step that deploys here. They override those of the file.
    #[schemars(extend("propertyNames" = {"pattern": name_rules::VARIABLE}, "maxProperties" = limits::ENTRIES))]
    pub(in crate::definition) variables: Option<Variables>,
}

/// Who may deploy: members of the groups, and everyone whose role on the pipeline is one of the roles or a higher one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("anyOf" = [
    {"required": ["groups"], "properties": {"groups": {"minItems": 1}}},
    {"required": ["roles"], "properties": {"roles": {"minItems": 1}}}
]))]
pub(in crate::definition) struct Deploy {
    /// Names of groups of the organization. A group that does not exist has no members.
    #[schemars(length(max = limits::APPROVERS), inner(regex(pattern = name_rules::NAME)))]
    pub(in crate::definition) groups: Option<Vec<Located<String>>>,

    /// Roles on the pipeline: that of the organization, or a higher one by a grant.
    #[schemars(extend("items" = {"type": "string", "enum": ["developer", "maintainer", "admin", "owner"]}))]
    pub(in crate::definition) roles: Option<Vec<Located<String>>>,
}

/// An environment, or a template of environments, that is claimed for a session and released.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "EphemeralEnvironment")]
pub(in crate::definition) struct Ephemeral {
    /// What it is for, for people.
    #[schemars(length(min = 1, max = limits::TEXT_BYTES))]
    pub(in crate::definition) description: Option<Located<String>>,

    /// Labels to claim it by: a claim can request any free environment that has all of some labels.
    #[schemars(length(max = limits::LABELS), inner(regex(pattern = name_rules::NAME)))]
    pub(in crate::definition) labels: Option<Vec<Located<String>>>,

    /// Its address, for people. `{name}` is replaced by the environment's name.
    #[schemars(regex(pattern = url::PATTERN), length(max = limits::URL_BYTES))]
    pub(in crate::definition) url: Option<Located<String>>,

    /// How long a session lasts.
    pub(in crate::definition) lease: Option<Located<Lease>>,

    /// The stages that a deployment here runs. Of their `needs`, those outside this list are not waited for. Without
    /// it: every stage that neither deploys to a lasting environment nor is an `onRelease` stage.
    #[schemars(length(min = 1, max = limits::STAGES), inner(regex(pattern = name_rules::NAME)))]
    pub(in crate::definition) stages: Option<Located<Vec<Located<String>>>>,

    /// The stages that clean up after a session, none of which deploys to a lasting environment. A stage named here is no
    /// part of an ordinary deployment. Of their `needs`, those outside this list are not waited for.
    #[schemars(length(max = limits::STAGES), inner(regex(pattern = name_rules::NAME)))]
    pub(in crate::definition) on_release: Option<Vec<Located<String>>>,

    /// Who may take the environment from its holder. Without it: developers and above.
    pub(in crate::definition) force: Option<Located<Force>>,

    /// How requests for hand-over are answered.
    pub(in crate::definition) handover: Option<Located<Handover>>,

    /// How long places in the queue are kept.
    pub(in crate::definition) queue: Option<Located<Queue>>,

    /// Environment variables for every step that runs here. Those of a stage or a step override them; they override those
    /// of the file.
    #[schemars(extend("propertyNames" = {"pattern": name_rules::VARIABLE}, "maxProperties" = limits::ENTRIES))]
    pub(in crate::definition) variables: Option<Variables>,

    /// How many environments of a template may exist at the same time. Required for a template, and only for one.
    #[schemars(range(min = 1, max = limits::TEMPLATE_MAX))]
    pub(in crate::definition) max: Option<Located<u64>>,
}

/// How long a session lasts: `default` unless the claim requests another time, with renewals never past `max`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(in crate::definition) struct Lease {
    /// How long a session lasts if its claim doesn't specify it, such as `4h`.
    #[schemars(regex(pattern = duration::PATTERN))]
    pub(in crate::definition) default: Option<Located<String>>,

    /// How long a session lasts at most, such as `24h`, which is also the longest.
    #[schemars(regex(pattern = duration::PATTERN))]
    pub(in crate::definition) max: Option<Located<String>>,
}

/// Who may take the environment from its holder.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(in crate::definition) struct Force {
    /// The least role that may.
    #[schemars(required, extend("enum" = ["developer", "maintainer", "admin", "owner"]))]
    pub(in crate::definition) role: Option<Located<String>>,

    /// `required`: a force claim has to give a reason in its `context`.
    #[schemars(extend("enum" = ["required"]))]
    pub(in crate::definition) reason: Option<Located<String>>,
}

/// How requests for hand-over are answered.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(in crate::definition) struct Handover {
    /// How long the holder has to answer, from `1m` to `1h`: the default of a request, and the least that it can request.
    #[schemars(required, regex(pattern = duration::PATTERN))]
    pub(in crate::definition) grace: Option<Located<String>>,
}

/// How long places in the queue are kept.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(in crate::definition) struct Queue {
    /// How long a person keeps a place after the page was closed, from `2m` to `24h`; `4h` without it. Programs keep theirs by
    /// heartbeats.
    #[schemars(required, regex(pattern = duration::PATTERN))]
    pub(in crate::definition) max_stay: Option<Located<String>>,
}
