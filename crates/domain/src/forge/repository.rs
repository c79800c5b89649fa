//! Repositories as forges name them.

use std::fmt;

use super::{InvalidPattern, RepositoryPattern};
use crate::repository_pattern::RepositoryPath;

/// The parts of the pattern of one repository: its host, its owner and its name.
const MAX_PARTS: usize = 3;

/// A repository of a forge: `https://HOST/OWNER/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeRepository {
    path: RepositoryPath,
    owner: String,
    name: String,
}

impl ForgeRepository {
    /// Reads the URL of a repository, in any form that a runner can fetch from. `None` if it is not one of a forge: its
    /// path must be an owner and a name.
    pub fn parse(address: &str) -> Option<Self> {
        let path = RepositoryPath::parse(address)?;
        let [owner, name] = path.names() else { return None };
        Some(Self { owner: owner.clone(), name: name.clone(), path })
    }

    pub fn host(&self) -> &str {
        self.path.host()
    }

    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn path(&self) -> &RepositoryPath {
        &self.path
    }
}

impl fmt::Display for ForgeRepository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.path, f)
    }
}

/// Checks a pattern of a forge. A deeper one would match none of its repositories.
pub fn pattern(text: &str) -> Result<RepositoryPattern, InvalidPattern> {
    let pattern = RepositoryPattern::new(text)?;
    if pattern.parts() > MAX_PARTS { Err(InvalidPattern::TooDeep) } else { Ok(pattern) }
}
