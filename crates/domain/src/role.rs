//! The five roles, each of which may do what the one before it may.

use crate::text_enum::text_enum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    Viewer,
    Developer,
    Maintainer,
    Admin,
    Owner,
}

text_enum!(Role {
    Viewer = "viewer",
    Developer = "developer",
    Maintainer = "maintainer",
    Admin = "admin",
    Owner = "owner",
});
