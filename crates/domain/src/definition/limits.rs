//! All limits of a definition.

use std::time::Duration;

pub(super) const SOURCE_BYTES: usize = 1024 * 1024;
pub(super) const DEPTH: usize = 32;
pub(super) const NODES: usize = 20_000;
pub(super) const ALIASES: usize = 100;
/// Events that aliases may add when they are expanded: the limit against the "billion laughs" attack.
pub(super) const REPLAYED_EVENTS: usize = 20_000;
/// The total text of a definition, with what aliases add to the file.
pub(super) const SCALAR_BYTES: usize = 4 * SOURCE_BYTES;

/// A longer list of problems does not help: users fix a file a few problems at a time.
pub(super) const DIAGNOSTICS: usize = 100;

pub(super) const STAGES: usize = 100;
pub(super) const STEPS: usize = 50;
/// Different steps of registries. All of them are resolved when a definition is saved.
pub(super) const STEP_REFERENCES: usize = 100;
pub(super) const ENVIRONMENTS: usize = 100;
pub(super) const TEMPLATE_MAX: u64 = 1_000;
pub(super) const CONCURRENCY: u64 = 100;
pub(super) const LABELS: usize = 20;
/// Variables, secrets and inputs, for each place where they may be defined.
pub(crate) const ENTRIES: usize = 100;
/// Id tokens of a step. Each one is signed at every refresh.
pub(crate) const ID_TOKENS: usize = 10;
/// Files and folders that a stage keeps for later stages.
pub(super) const ARTIFACTS: usize = 20;
/// Caches of a stage, and files and folders in one.
pub(super) const CACHES: usize = 10;
pub(super) const CACHE_PATHS: usize = 20;
pub(super) const PATH_BYTES: usize = 255;
pub(super) const BRANCHES: usize = 20;
/// Hosts of submodules. A host has a name of 253 bytes at most, and a port.
pub(super) const HOSTS: usize = 20;
pub(super) const HOST_BYTES: usize = 259;
pub(super) const APPROVERS: usize = 50;
pub(super) const APPROVALS: u64 = 20;
pub(super) const APPROVAL_RULES: usize = 10;
pub(super) const ATTEMPTS: u64 = 10;

pub(super) const SCRIPT_BYTES: usize = 64 * 1024;
pub(crate) const TEXT_BYTES: usize = 4 * 1024;
pub(super) const URL_BYTES: usize = 2_048;
/// The expression parser recurses over length and nesting; a test shows that both fit a stack of 2 MiB in a
/// debug build.
pub(super) const CONDITION_BYTES: usize = 1_024;
/// All conditions of a definition together: parsing them takes most of the time of a check.
pub(super) const CONDITIONS_BYTES: usize = 16 * 1_024;
pub(super) const CONDITION_NESTING: usize = 6;
/// How deep macros that iterate over lists (`all`, `exists`, `map`) may be nested.
pub(super) const CONDITION_LOOPS: usize = 2;
/// The steps of an evaluation: calls, elements that macros iterate over, and each 16 bytes of text.
pub(super) const CONDITION_STEPS: u64 = 100_000;
/// The stack size that an evaluation needs, measured in a debug build.
pub const CONDITION_STACK_BYTES: usize = 64 * 1024 * 1024;
/// The maximum time of an evaluation. The caller measures it.
pub const CONDITION_TIME: Duration = Duration::from_millis(50);

pub(super) const MAX_TIMEOUT_SECONDS: u64 = 24 * 3_600;
pub(super) const MAX_APPROVAL_SECONDS: u64 = 7 * 24 * 3_600;
/// How long an approval waits, and how long it is valid, if the definition does not specify it.
pub const DEFAULT_APPROVAL_SECONDS: u64 = 24 * 3_600;
pub(super) const MAX_BACKOFF_SECONDS: u64 = 3_600;
pub(super) const DEFAULT_BACKOFF_SECONDS: u64 = 10;

/// The lease of a session if neither the claim nor the definition specifies it.
pub const DEFAULT_LEASE_SECONDS: u64 = 4 * 3_600;
/// The maximum duration of a session, with all renewals.
pub const MAX_LEASE_SECONDS: u64 = 24 * 3_600;
/// The value of `GREENROOM_ENVIRONMENT` without an environment; no environment can have this name.
pub const NO_ENVIRONMENT: &str = "none";
/// The minimum and maximum time for answering a request for hand-over.
pub const HANDOVER_GRACE_SECONDS: std::ops::RangeInclusive<u64> = 60..=3_600;
/// The time for answering if neither the request nor the definition specifies it.
pub const DEFAULT_HANDOVER_GRACE_SECONDS: u64 = 300;
/// The minimum and maximum time for which a person keeps a place in a queue without a heartbeat.
pub const MAX_STAY_SECONDS: std::ops::RangeInclusive<u64> = 120..=24 * 3_600;
/// That time if the definition does not specify it.
pub const DEFAULT_MAX_STAY_SECONDS: u64 = 4 * 3_600;
/// The runner pool of a definition without one.
pub const DEFAULT_POOL: &str = "default";
