//! Who sends a request, found out before anything else is done for it: limits go by it. Whether that is enough for the
//! operation is for `permit` and `job` to say.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{HeaderMap, header};
use greenroom_domain::principal::Principal;
use greenroom_domain::token::{SecretKind, TokenSecret};
use greenroom_store::job::RunnerPrincipal;

use crate::app::App;
use crate::app::authentication::{Found, Rejection};
use crate::app::failure::Failure;
use crate::limits::{Bearer, Class, Sender};

/// The edge puts it into every request.
#[derive(Clone)]
pub enum Identity {
    /// No token, or one that is not valid.
    Nobody,
    User(Arc<Principal>),
    Runner(Arc<RunnerPrincipal>),
    RevokedRunner,
    /// The token could not be looked up. An operation that needs none is served all the same.
    Unclear(Arc<Mutex<Option<Failure>>>),
}

impl Identity {
    /// Fails only if the address has sent too many invalid tokens, before the database is asked for one more.
    pub async fn find(
        app: &App,
        headers: &HeaderMap,
        (address, class): (IpAddr, Class),
    ) -> Result<Self, Failure> {
        // The checksum turns typing errors and noise away before the database hears of them.
        let Some((kind, secret)) = bearer(headers).and_then(read) else { return Ok(Self::Nobody) };
        let (authentication, failures) = (&app.authentication, &app.limits.failures);
        let hash = secret.hash();
        // A program that repeats an invalid token costs no look-up, and takes none from others at its address.
        if let Some(rejection) = authentication.rejection(&hash).await {
            return Ok(rejection.into());
        }
        let known = authentication.was_valid(&hash);
        let _turn = if known { None } else { Some(failures.before_look_up(address).await?) };
        let found = match kind {
            SecretKind::Runner => {
                let found = authentication.runner(hash, class).await;
                found.map(|found| found.map(|runner| Self::Runner(Arc::new(runner))))
            }
            _ => authentication.principal(hash, class).await.map(|found| found.map(Self::User)),
        };
        Ok(match found {
            Ok(Found::Valid(identity)) => identity,
            Ok(Found::Rejected { rejection, is_new }) => {
                if is_new {
                    failures.failed(address);
                }
                rejection.into()
            }
            Err(failure) => Self::Unclear(Arc::new(Mutex::new(Some(failure)))),
        })
    }

    pub fn sender(&self, address: IpAddr) -> Sender {
        match self {
            Self::User(principal) => Sender::Bearer(Bearer::from(principal.as_ref())),
            Self::Runner(runner) => Sender::Bearer(Bearer::from(runner.as_ref())),
            Self::Nobody | Self::RevokedRunner => Sender::Address(address),
            Self::Unclear(_) => Sender::Unverified(address),
        }
    }

    /// Why the token could not be looked up, for the first who asks.
    pub fn take_failure(&self) -> Option<Failure> {
        match self {
            Self::Unclear(failure) => failure.lock().unwrap_or_else(PoisonError::into_inner).take(),
            _ => None,
        }
    }
}

impl From<Rejection> for Identity {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Invalid => Self::Nobody,
            Rejection::RevokedRunner => Self::RevokedRunner,
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn read(token: &str) -> Option<(SecretKind, TokenSecret)> {
    let of = |kind| TokenSecret::read(kind, token).ok().map(|secret| (kind, secret));
    of(SecretKind::Api).or_else(|| of(SecretKind::Runner))
}
