//! Why a call of a forge failed. The texts can be shown to users, unless the operator's list of allowed destinations was used
//! (`requester.rs`): of a forge's text they contain a bounded, cleaned message.

use std::time::Duration;

use greenroom_outbound::OutboundError;

use super::credential::CredentialNotOpened;

#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    #[error("the forge can't be called: {0}")]
    Outbound(#[from] OutboundError),
    #[error("the forge did not respond in time")]
    Timeout,
    /// Nothing was sent.
    #[error(transparent)]
    Credential(#[from] CredentialNotOpened),
    #[error("the forge rejects the credential (401)")]
    Unauthorized,
    #[error("the forge does not allow this with the credential ({status}){message}")]
    Forbidden { status: u16, message: Message },
    #[error("the forge does not have it, or the credential does not show it (404)")]
    NotFound,
    #[error("the forge limits requests: it can be called again in {} s", .retry_after.as_secs())]
    RateLimited { retry_after: Duration },
    /// Of `open`: there is an open pull request of this head already.
    #[error("the forge refuses the pull request ({status}){message}")]
    Conflict { status: u16, message: Message },
    #[error("the forge refuses the request ({status}){message}")]
    Refused { status: u16, message: Message },
    #[error("the forge failed ({status}){message}")]
    Server { status: u16, message: Message },
    #[error("the forge's response is not as documented: {0}")]
    Unexpected(&'static str),
    #[error("{0} can't be sent to a forge")]
    Input(&'static str),
}

impl ForgeError {
    /// Returns whether the forge may have done what was requested.
    pub fn is_unclear(&self) -> bool {
        match self {
            Self::Server { .. } | Self::Unexpected(_) | Self::Timeout => true,
            Self::Outbound(error) => matches!(
                error,
                OutboundError::Timeout(_) | OutboundError::TooLarge(_) | OutboundError::Http(_)
            ),
            _ => false,
        }
    }

    /// Returns whether the same call can succeed later, without a change by a person.
    pub fn is_temporary(&self) -> bool {
        // Without an address of the host nothing was sent.
        self.is_unclear()
            || matches!(self, Self::RateLimited { .. } | Self::Outbound(OutboundError::Lookup(_)))
    }
}

/// A forge's own words, cleaned: empty, or a colon and at most 200 characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(String);

impl Message {
    pub(super) fn new(cleaned: &str) -> Self {
        if cleaned.is_empty() { Self::default() } else { Self(format!(": {cleaned}")) }
    }
}

impl std::fmt::Display for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
