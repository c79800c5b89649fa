//! Raw stages and approvals.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::super::located::Located;
use super::super::{duration, limits, name_rules};
use super::{Runner, Step, Value, Variables};

/// Steps that run one after the other on one runner and share a workspace.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(in crate::definition) struct Stage {
    /// What people call it. Without it: the key.
    #[schemars(length(min = 1, max = limits::TEXT_BYTES))]
    pub(in crate::definition) name: Option<Located<String>>,

    /// The stages that have to succeed before this one starts. An `onRelease` stage can't be one of them, unless this is
    /// one itself.
    #[schemars(length(max = limits::STAGES), inner(regex(pattern = name_rules::NAME)))]
    pub(in crate::definition) needs: Option<Vec<Located<String>>>,

    /// A CEL expression, such as `branch == "main"`. If it is false the stage is skipped. It can use `branch`, `commitId`,
    /// `environment`, `pipeline`, `trigger` and `variables`.
    #[schemars(length(min = 1, max = limits::CONDITION_BYTES))]
    #[serde(rename = "if")]
    pub(in crate::definition) condition: Option<Located<String>>,

    /// The lasting environment that it deploys to, one of `environments`.
    #[schemars(regex(pattern = name_rules::NAME))]
    pub(in crate::definition) environment: Option<Located<String>>,

    /// `ephemeral`: it runs in sessions of ephemeral environments only; a deployment of the whole pipeline skips it.
    #[schemars(extend("enum" = ["ephemeral"]))]
    pub(in crate::definition) only: Option<Located<String>>,
    /// Where it runs.
    pub(in crate::definition) runner: Option<Located<Runner>>,

    /// Environment variables for each of its steps. A step's own override them; they override those of the file and of an
    /// environment.
    #[schemars(extend("propertyNames" = {"pattern": name_rules::VARIABLE}, "maxProperties" = limits::ENTRIES))]
    pub(in crate::definition) variables: Option<Variables>,

    /// How long it may run, such as `30m`; `24h` at most.
    #[schemars(regex(pattern = duration::PATTERN))]
    pub(in crate::definition) timeout: Option<Located<String>>,

    /// Who has to agree before it starts.
    pub(in crate::definition) approval: Option<Located<Approval>>,

    /// The hosts from which its submodules are fetched, by https: `git.example.com`, or with a port
    /// `git.example.com:8443`. Commits name the addresses; one on another host fails the stage. Without it no submodule is
    /// fetched.
    #[schemars(length(min = 1, max = limits::HOSTS), inner(length(min = 1, max = limits::HOST_BYTES)))]
    pub(in crate::definition) submodules: Option<Located<Vec<Located<String>>>>,

    /// Files and folders of the workspace that the stages which need this one find in theirs.
    #[schemars(length(max = limits::ARTIFACTS), inner(length(min = 1, max = limits::PATH_BYTES)))]
    pub(in crate::definition) artifacts: Option<Vec<Located<String>>>,

    /// Stages whose files and outputs it takes although their pools are restricted less than its own: everybody who has a runner's
    /// token of such a pool can change them.
    #[schemars(length(max = limits::STAGES), inner(regex(pattern = name_rules::NAME)))]
    pub(in crate::definition) accept_from: Option<Vec<Located<String>>>,

    /// What is kept from one deployment of the pipeline to the next, to save time.
    #[schemars(length(max = limits::CACHES))]
    pub(in crate::definition) caches: Option<Vec<Located<Cache>>>,

    /// What it does, step by step.
    #[schemars(required, length(min = 1, max = limits::STEPS))]
    pub(in crate::definition) steps: Option<Located<Vec<Located<Step>>>>,
}

/// Files and folders of the workspace under a key. They are restored before the first step, and kept after the last one if
/// there was nothing under the key yet: what is kept never changes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(in crate::definition) struct Cache {
    /// Its name in this pipeline: 1 to 128 letters, digits and `. _ - / : @ + =`. Another key is another cache.
    #[schemars(required, regex(pattern = name_rules::CACHE_KEY))]
    pub(in crate::definition) key: Option<Located<String>>,

    /// What is kept: paths within the workspace.
    #[schemars(required, length(min = 1, max = limits::CACHE_PATHS), inner(length(min = 1, max = limits::PATH_BYTES)))]
    pub(in crate::definition) paths: Option<Vec<Located<String>>>,
}

/// Who has to agree before something happens: one rule (`groups`, `users`, `roles`, `count`), or `rules`, all of which have
/// to be met.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("oneOf" = [
    {"required": ["rules"], "not": {"anyOf": [
        {"required": ["groups"]}, {"required": ["users"]}, {"required": ["roles"]}, {"required": ["count"]}
    ]}},
    {"not": {"required": ["rules"]}, "anyOf": approvers()}
]))]
pub(in crate::definition) struct Approval {
    /// The rules, if there are several. One person counts for one of them only.
    #[schemars(length(min = 1, max = limits::APPROVAL_RULES))]
    pub(in crate::definition) rules: Option<Located<Vec<Located<ApprovalRule>>>>,

    /// Groups whose members may approve.
    #[schemars(length(max = limits::APPROVERS), inner(regex(pattern = name_rules::NAME)))]
    pub(in crate::definition) groups: Option<Vec<Located<String>>>,

    /// People who may approve, by e-mail address or id.
    #[schemars(length(max = limits::APPROVERS), inner(length(min = 1, max = 254)))]
    pub(in crate::definition) users: Option<Vec<Located<String>>>,

    /// Roles whose members may approve.
    #[schemars(extend("items" = {"type": "string", "enum": ["developer", "maintainer", "admin", "owner"]}))]
    pub(in crate::definition) roles: Option<Vec<Located<String>>>,

    /// How many have to agree. Without it: one.
    #[schemars(range(min = 1, max = limits::APPROVALS))]
    pub(in crate::definition) count: Option<Located<u64>>,

    /// How long it waits before it expires, such as `24h`, which it is if not given; `7d` at most.
    #[schemars(regex(pattern = duration::PATTERN))]
    pub(in crate::definition) timeout: Option<Located<String>>,

    /// How long after the approval the first step may start, such as `4h`. `24h` if not given; `7d` at most.
    #[schemars(regex(pattern = duration::PATTERN))]
    pub(in crate::definition) valid_for: Option<Located<String>>,

    /// If true, those who started or retried the deployment may approve it themselves.
    #[schemars(extend("type" = "boolean"))]
    pub(in crate::definition) self_approval: Option<Located<Value>>,

    /// The least role that may override it with a reason: `admin`, which it is if not given, or `owner`. `none`: it can't be
    /// overridden.
    #[serde(rename = "override")]
    #[schemars(extend("enum" = ["admin", "owner", "none"]))]
    pub(in crate::definition) override_by: Option<Located<String>>,

    /// A message for the approvers.
    #[schemars(length(min = 1, max = limits::TEXT_BYTES))]
    pub(in crate::definition) message: Option<Located<String>>,
}

/// Some people who have to agree: at least one group, user or role, and how many of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(extend("anyOf" = approvers()))]
pub(in crate::definition) struct ApprovalRule {
    /// Groups whose members may approve.
    #[schemars(length(max = limits::APPROVERS), inner(regex(pattern = name_rules::NAME)))]
    pub(in crate::definition) groups: Option<Vec<Located<String>>>,

    /// People who may approve, by e-mail address or id.
    #[schemars(length(max = limits::APPROVERS), inner(length(min = 1, max = 254)))]
    pub(in crate::definition) users: Option<Vec<Located<String>>>,

    /// Roles whose members may approve.
    #[schemars(extend("items" = {"type": "string", "enum": ["developer", "maintainer", "admin", "owner"]}))]
    pub(in crate::definition) roles: Option<Vec<Located<String>>>,

    /// How many of them have to agree. Without it: one.
    #[schemars(range(min = 1, max = limits::APPROVALS))]
    pub(in crate::definition) count: Option<Located<u64>>,
}

/// The schema of a rule that names at least one approver.
fn approvers() -> serde_json::Value {
    let not_empty = |field: &str| json!({ "required": [field], "properties": { field: { "minItems": 1 } } });
    json!([not_empty("groups"), not_empty("users"), not_empty("roles")])
}
