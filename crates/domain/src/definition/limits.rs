//! Every number that bounds a definition, in one place.

use std::time::Duration;

pub(super) const SOURCE_BYTES: usize = 1024 * 1024;
pub(super) const DEPTH: usize = 32;
pub(super) const NODES: usize = 20_000;
pub(super) const ALIASES: usize = 100;
/// Events that aliases may add when they are expanded: the bound that stops a billion laughs.
pub(super) const REPLAYED_EVENTS: usize = 20_000;
/// Text that aliases may add to what the file itself holds.
pub(super) const SCALAR_BYTES: usize = 4 * SOURCE_BYTES;

/// People fix a file a screenful at a time; beyond this a list of problems is only work.
pub(super) const DIAGNOSTICS: usize = 100;

pub(super) const STAGES: usize = 100;
pub(super) const STEPS: usize = 50;
pub(super) const ENVIRONMENTS: usize = 100;
pub(super) const TEMPLATE_MAX: u64 = 1_000;
pub(super) const CONCURRENCY: u64 = 100;
pub(super) const LABELS: usize = 20;
/// Variables, secrets and inputs, each per place where they may stand.
pub(super) const ENTRIES: usize = 100;
/// Files and folders that a stage leaves to those after it.
pub(super) const ARTIFACTS: usize = 20;
/// Caches of a stage, and files and folders in one.
pub(super) const CACHES: usize = 10;
pub(super) const CACHE_PATHS: usize = 20;
pub(super) const PATH_BYTES: usize = 255;
pub(super) const BRANCHES: usize = 20;
pub(super) const APPROVERS: usize = 50;
pub(super) const APPROVALS: u64 = 20;
pub(super) const ATTEMPTS: u64 = 10;

pub(super) const SCRIPT_BYTES: usize = 64 * 1024;
pub(super) const TEXT_BYTES: usize = 4 * 1024;
pub(super) const URL_BYTES: usize = 2_048;
/// The expression parser recurses over both; measured to fit a stack of 2 MiB in a debug build.
pub(super) const CONDITION_BYTES: usize = 1_024;
/// All conditions of a definition together: parsing them is what takes longest when one is checked.
pub(super) const CONDITIONS_BYTES: usize = 16 * 1_024;
pub(super) const CONDITION_NESTING: usize = 6;
/// How deep macros that go through lists (`all`, `exists`, `map`) may stand inside each other.
pub(super) const CONDITION_LOOPS: usize = 2;
/// Calls, elements that macros go through, and sixteenths of the bytes of text that an evaluation may take.
pub(super) const CONDITION_STEPS: u64 = 100_000;
/// The stack that an evaluation needs, measured in a debug build.
pub const CONDITION_STACK_BYTES: usize = 64 * 1024 * 1024;
/// How long an evaluation may take. The caller measures it.
pub const CONDITION_TIME: Duration = Duration::from_millis(50);

pub(super) const LONGEST_TIMEOUT_SECONDS: u64 = 24 * 3_600;
pub(super) const LONGEST_APPROVAL_SECONDS: u64 = 7 * 24 * 3_600;
pub(super) const LONGEST_BACKOFF_SECONDS: u64 = 3_600;
pub(super) const DEFAULT_BACKOFF_SECONDS: u64 = 10;

/// How long a session lasts when neither the claim nor the definition says.
pub const DEFAULT_LEASE_SECONDS: u64 = 4 * 3_600;
/// No session lasts longer than this without a new claim.
pub const LONGEST_LEASE_SECONDS: u64 = 24 * 3_600;
/// The name that a step sees as its environment if there is none; no environment can have it.
pub const NO_ENVIRONMENT: &str = "none";
/// How long a holder has to answer a request for hand-over, at least and at most.
pub const HANDOVER_GRACE_SECONDS: std::ops::RangeInclusive<u64> = 60..=3_600;
/// The same when neither the request nor the definition says.
pub const DEFAULT_HANDOVER_GRACE_SECONDS: u64 = 300;
/// The runner pool of a definition that names none.
pub const DEFAULT_POOL: &str = "default";
