//! Signing in with a browser: what all ways of signing in share.

pub mod link;
pub mod password;
mod password_hash;

use greenroom_api_types::sign_in::SignInMethods;

use crate::app::public_url::PublicUrl;

/// The settings of signing in, and the state that its requests share.
pub struct SignIn {
    pub public_url: PublicUrl,
    /// The operator's setting. Without it, records do not contain their addresses in the dashboard: the address on
    /// which a server listens may be `0.0.0.0`, or behind a proxy.
    pub configured_url: Option<PublicUrl>,
}

/// The operator's settings.
#[derive(Clone, Debug, Default)]
pub struct SignInSettings {
    /// `None`: the address on which the server listens.
    pub public_url: Option<PublicUrl>,
}

impl SignIn {
    pub fn new(settings: SignInSettings, listen: PublicUrl) -> Self {
        let configured_url = settings.public_url;
        Self { public_url: configured_url.clone().unwrap_or(listen), configured_url }
    }

    /// Returns the ways to sign in.
    pub fn methods(&self) -> SignInMethods {
        SignInMethods { password: true, providers: Vec::new() }
    }
}
