//! The address of a forge's API.

use std::fmt;

use super::{ForgeKind, InvalidPattern, RepositoryPattern};
use crate::service_address::{InvalidServiceAddress, ServiceAddress};

/// The address of a forge's API, without a slash at its end. Whether its host may be connected to is checked when it is
/// used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeAddress {
    text: String,
    /// The host, and the port if it is not the scheme's.
    authority: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidForgeAddress {
    #[error(transparent)]
    Address(#[from] InvalidServiceAddress),
    #[error(
        "must be the address of the API: `https://api.github.com`, or `https://HOST/api/v3` of GitHub Enterprise"
    )]
    Github,
    #[error("must be the address of the API: `https://HOST/api/v1`")]
    Forgejo,
}

impl ForgeAddress {
    pub fn new(kind: ForgeKind, text: &str) -> Result<Self, InvalidForgeAddress> {
        let address = ServiceAddress::new(text)?;
        let (host, path) = (address.host(), address.path());
        match kind {
            ForgeKind::Github if host == "github.com" || !(path.is_empty() || path.ends_with("/api/v3")) => {
                return Err(InvalidForgeAddress::Github);
            }
            ForgeKind::Forgejo if !path.ends_with("/api/v1") => return Err(InvalidForgeAddress::Forgejo),
            _ => {}
        }
        Ok(Self { text: address.text().to_owned(), authority: address.authority() })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the pattern of all repositories of the forge: those of its host. The API of github.com and of GitHub
    /// Enterprise Cloud has a host of its own, `api.` before that of the repositories.
    pub fn default_pattern(&self) -> Result<RepositoryPattern, InvalidPattern> {
        let is_api_host = !self.text.ends_with("/api/v3") && !self.text.ends_with("/api/v1");
        let host = if is_api_host { self.authority.strip_prefix("api.") } else { None };
        RepositoryPattern::new(host.unwrap_or(&self.authority))
    }
}

impl fmt::Display for ForgeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
