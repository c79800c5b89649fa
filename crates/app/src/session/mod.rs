//! Sessions: claiming, holding, deploying to, releasing and taking over an environment. This file has what
//! the use cases below have in common: the environment that a request names, and the claim as it was sent.

pub mod claim;
mod fast_path;
pub mod handover;
pub mod hold;
pub mod live;
pub mod locked;
mod outcome;
pub mod pool;
pub mod read;
pub mod refusal;
pub mod transfer;
pub mod view;
pub mod waiting;

use greenroom_domain::text::{Branch, CommitId, Reason};
use greenroom_store::pipeline::PipelineName;

use crate::commit;
use crate::failure::Failure;

/// The environment of a session, as the path of a request names it.
#[derive(Clone, Debug)]
pub struct Place {
    pub pipeline: PipelineName,
    pub environment: String,
}

/// A claim, as a client sent it.
#[derive(Clone, Debug, Default)]
pub struct ClaimRequest {
    pub commit_id: Option<String>,
    /// The branch that the commit is on.
    pub branch: Option<String>,
    pub context: Option<String>,
    pub ttl_seconds: Option<i64>,
    pub mode: ClaimMode,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimMode {
    #[default]
    Plain,
    Queue,
    Force,
}

/// The texts of a claim, validated.
pub struct ValidatedClaim {
    pub commit_id: Option<CommitId>,
    pub branch: Option<Branch>,
    pub context: Option<Reason>,
}

impl ValidatedClaim {
    pub fn new(request: &ClaimRequest) -> Result<Self, Failure> {
        let commit_id = request.commit_id.as_deref().map(commit::parse).transpose()?;
        let context = request.context.as_deref().map(parse_context).transpose()?.flatten();
        if request.branch.is_some() && request.commit_id.is_none() {
            return Err(Failure::field("/branch", "needs `commitId`: it is the branch of a commit"));
        }
        Ok(Self { branch: parse_branch(request.branch.as_deref())?, commit_id, context })
    }
}

/// Line breaks and tabs become spaces: a pull request's text has them. A text of blanks only is none.
fn parse_context(text: &str) -> Result<Option<Reason>, Failure> {
    let line = text.split(['\r', '\n', '\t']).map(str::trim).filter(|part| !part.is_empty());
    let line = line.collect::<Vec<_>>().join(" ");
    Reason::optional(&line).map_err(|error| Failure::field("/context", error))
}

pub fn parse_branch(text: Option<&str>) -> Result<Option<Branch>, Failure> {
    text.map(Branch::new).transpose().map_err(|error| Failure::field("/branch", error))
}
