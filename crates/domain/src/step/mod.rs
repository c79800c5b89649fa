//! Steps of registries: which versions exist and which of them a definition allows (`version`).

mod version;

pub use version::{InvalidVersion, StepTag, StepVersion, VersionRequirement};

pub use crate::digest::StepDigest;
