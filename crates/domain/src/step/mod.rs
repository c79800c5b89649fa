//! Steps of registries: which versions exist (`version`), what they consist of (`content`, `path`), what a step accepts
//! and runs (`manifest`, `input`, `pattern`, `forbidden_variables`), which version a reference means (`resolve`), and what a
//! definition has locked (`lock`), and what it gives to a step (`with`).

mod content;
mod forbidden_variables;
mod input;
mod input_check;
mod lock;
mod manifest;
mod manifest_check;
mod manifest_raw;
mod path;
mod pattern;
mod resolve;
mod version;
mod with;

pub use content::{
    FileMode, InvalidContent, MANIFEST_PATH, MAX_BYTES, MAX_FILES, StepFile, content_digest, content_lines,
};
pub use forbidden_variables::forbidden_variable;
pub use input::{InputType, InvalidInput, StepInput};
pub use lock::{LockChange, LockDiff, LockedStep, StepLock, definition_digest, lock_diff};
pub use manifest::{ExpectedVariable, StepManifest, StepOutput};
pub use path::{InvalidPath, StepPath};
pub use pattern::{InvalidPattern, Pattern};
pub use resolve::{Candidate, RegistryTrust, Unresolved, resolve};
pub use version::{InvalidVersion, StepTag, StepVersion, VersionRequirement};
pub(crate) use with::forbidden;
pub use with::{ProblemKind, StepProblem, check_step};

pub use crate::digest::StepDigest;
