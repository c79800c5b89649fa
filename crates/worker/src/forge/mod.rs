//! Calls of connected forges, by the outbound client only. It opens drafts of pull requests and sets commit statuses; it
//! never approves, merges or marks anything as ready, and has no call for it.
//!
//! What a forge sends is text of others: it is bounded, cleaned (`text.rs`) and never contains the credential.

mod api;
mod connect;
mod credential;
mod error;
mod forgejo;
mod github;
mod interface;
mod open_once;
mod shared;
pub(crate) mod text;

pub use self::connect::{connect, connect_stored};
pub use self::credential::{CredentialNotOpened, open_credential};
pub use self::error::ForgeError;
pub use self::interface::{
    ComparedCommit, Comparison, Connection, Forge, NewPullRequest, NewStatus, PullRequest, PullRequestState,
    StatusState, VERIFIED_CONTEXT,
};
pub use self::open_once::{Opened, open_once};
