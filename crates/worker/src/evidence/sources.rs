//! Where evidence comes from, besides the database.

use super::commits::ForgeAccess;
use crate::objects::Objects;

#[derive(Clone)]
pub struct Sources {
    /// The logs.
    pub objects: Objects,
    /// The commits; `None` if no forge may be called.
    pub forges: Option<ForgeAccess>,
}
