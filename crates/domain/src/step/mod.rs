//! Steps of registries: which versions exist and which of them a definition allows (`version`), and what they consist of
//! (`content`, `path`).

mod content;
mod path;
mod version;

pub use content::{FileMode, InvalidContent, MANIFEST_PATH, MAX_BYTES, MAX_FILES, StepFile, content_digest};
pub use path::{InvalidPath, StepPath};
pub use version::{InvalidVersion, StepTag, StepVersion, VersionRequirement};

pub use crate::digest::StepDigest;
