//! Attacks on signing in. The list is in `docs/sign-in.md`; each test carries the numbers of the attacks that it
//! tries.
#![expect(clippy::unwrap_used, reason = "a test may")]

#[path = "../support/mod.rs"]
mod support;

mod cross_site;
mod enrollment;
mod fixture;
mod links;
mod oidc;
mod passwords;
mod provider;
mod sessions;
mod setup;
