//! Reads step registries. A registry is a git repository that a user has named: it is hostile until proven otherwise.
//!
//! **Layout of a registry.** The tag `roll-out/v2.3.0` is version 2.3.0 of the step `roll-out`. The commit of the tag
//! has the step in the folder `roll-out/` at the root of the repository, with a `step.yaml` in it.
//!
//! - https only. Plain http is possible to this machine, if the operator has allowed that (tests, demonstrations). The
//!   addresses of the host are checked by `greenroom-outbound`, and git connects to the checked ones.
//! - Nothing is checked out: one tag is fetched without its history into a bare repository in a temporary folder, and
//!   its files are read from there. Their number and sizes are known before their contents are read.
//! - Each call has a deadline. The processes of git have limits for memory, time and file sizes, and none outlives the
//!   call.
//! - A credential is sent to the host of its registry only. It is in no argument, no file and no error.
//!
//! This crate runs the programs `git`, `prlimit` and `ssh-keygen`. It logs nothing. Its errors contain nothing that a
//! server has sent but numbers, names of git's own checks, and paths in the repository.

mod archive;
mod bounds;
mod contents;
mod error;
mod failure;
mod git;
mod object_id;
mod program;
mod reader;
mod signature;
mod source;
mod tag;
mod tag_object;
mod tree;

pub use self::archive::Archive;
pub use self::bounds::Bounds;
pub use self::error::{ForbiddenEntry, RegistryError};
pub use self::object_id::{InvalidObjectId, ObjectId};
pub use self::reader::{FetchedStep, RegistryReader};
pub use self::signature::{SignatureError, Signer, verify_signature};
pub use self::source::{Credential, InvalidSource, Source};
pub use self::tag::Tag;
pub use self::tree::{FileMode, StepFile};
