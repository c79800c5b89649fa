//! Why a registry could not be read.

use std::io;
use std::time::Duration;

use greenroom_outbound::PinError;

use crate::object_id::ObjectId;

/// Why an entry in the folder of a step is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForbiddenEntry {
    #[error("it is a symbolic link")]
    Link,
    #[error("it is a submodule")]
    Submodule,
    #[error("it is not a file")]
    Mode,
    #[error("its path is not a plain relative path")]
    Path,
}

/// Why a registry could not be read. The text can be shown to users, unless the operator's list of allowed destinations was
/// used (`Requester::public_text`).
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("the registry can't be connected to: {0}")]
    Address(#[from] PinError),
    #[error("the registry did not respond: check its address, and whether its server runs")]
    Unreachable,
    #[error(
        "the certificate of the registry's server is not valid: it has to be from an authority that this machine trusts"
    )]
    Certificate,
    #[error(
        "the registry responds with a redirect, which is not followed: set the address that it redirects to"
    )]
    Redirect,
    #[error("the registry requires a credential: set one")]
    CredentialRequired,
    #[error("the registry refuses the credential: set a valid one that may read the repository")]
    CredentialRefused,
    #[error("the registry has no such repository: check the address, and whether it needs a credential")]
    NotFound,
    #[error("the registry responds with the HTTP status {0}")]
    Status(u16),
    #[error("reading the registry took longer than {} seconds", .0.as_secs())]
    Timeout(Duration),
    #[error("the registry sent less than 1,000 bytes a second for {} seconds", .0.as_secs())]
    TooSlow(Duration),
    #[error(
        "the registry has more than {max_tags} tags, or a list of tags of more than {max_bytes} bytes: delete old ones"
    )]
    TooManyTags { max_tags: usize, max_bytes: usize },
    #[error(
        "the repository is too large to be read: what is downloaded for a tag may have {max_bytes} bytes, and needs a \
         bounded amount of memory and time; keep large files out of the registry"
    )]
    TooLarge { max_bytes: u64 },
    #[error(
        "the registry does not respond as a git server, its response is damaged, or the repository is empty: check the address"
    )]
    Protocol,
    #[error("the repository has a malformed object (git's check `{0}`): run `git fsck` in it")]
    Malformed(String),
    #[error("the tag {0} does not exist in the registry")]
    TagMissing(String),
    #[error("the tag {tag} was moved from {expected} to {found}: publish a new version instead")]
    TagMoved { tag: String, expected: ObjectId, found: ObjectId },
    #[error("the tag {0} does not refer to a commit")]
    NotACommit(String),
    #[error(
        "the tag object of {tag} is malformed, too large, or for another tag: create it by `git tag {tag}`"
    )]
    TagObject { tag: String },
    #[error("the commit of the tag has no folder `{0}` at its root: a step is in the folder of its name")]
    NoFolder(String),
    #[error("the folder `{0}` of the step has no file step.yaml")]
    NoManifest(String),
    #[error("the step can't contain `{path}`: {reason}")]
    Entry { path: String, reason: ForbiddenEntry },
    #[error("the step has more than {0} files")]
    TooManyFiles(usize),
    #[error("the files of the step have more than {0} bytes")]
    StepTooLarge(u64),
    #[error("git ended with an error (exit code {code:?}) at `{verb}`")]
    Git { verb: &'static str, code: Option<i32> },
    #[error(
        "the programs git and prlimit can't be run on this machine: install git 2.37 or newer, and util-linux"
    )]
    Program,
    #[error("the temporary folder for registries can't be used")]
    Folder(#[source] io::Error),
}
