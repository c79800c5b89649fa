//! Signing in with a browser: what all ways of signing in share.

pub mod link;
pub mod oidc;
pub mod password;
pub(crate) mod password_hash;
pub mod provider;
pub mod setup;

use greenroom_api_types::sign_in::{SignInMethods, SignInProvider};
use greenroom_outbound::OutboundClient;

use self::provider::{InvalidProvider, Provider, ProviderSettings};
use crate::next_action::API_ROOT;
use crate::public_url::{OwnOrigins, PublicUrl};

/// The settings of signing in, and the state that its requests share.
pub struct SignIn {
    pub public_url: PublicUrl,
    /// The origins whose pages may use the cookies.
    pub own_origins: OwnOrigins,
    /// The operator's setting. Without it, records do not contain their addresses in the dashboard: the address on
    /// which a server listens may be `0.0.0.0`, or behind a proxy.
    pub configured_url: Option<PublicUrl>,
    providers: Vec<Provider>,
}

/// The operator's settings.
#[derive(Clone, Debug, Default)]
pub struct SignInSettings {
    /// `None`: the address on which the server listens.
    pub public_url: Option<PublicUrl>,
    pub providers: Vec<ProviderSettings>,
}

impl SignIn {
    pub fn new(
        settings: SignInSettings,
        listen: &PublicUrl,
        outbound: &OutboundClient,
    ) -> Result<Self, InvalidProvider> {
        let configured_url = settings.public_url;
        let public_url = configured_url.clone().unwrap_or_else(|| listen.clone());
        let own_origins = OwnOrigins::new(&public_url, listen);
        provider::check(&settings.providers)?;
        for id in provider::without_domains(&settings.providers) {
            tracing::warn!(
                provider = id,
                "the provider links no accounts: name its `domains`, because there are several"
            );
        }
        let is_only_one = settings.providers.len() == 1;
        let providers = settings.providers.into_iter().map(|settings| {
            let redirect_url = public_url.join(&format!("{}/callback", path(&settings.id)));
            Provider::new(settings, is_only_one, redirect_url, outbound.clone())
        });
        Ok(Self { providers: providers.collect(), public_url, own_origins, configured_url })
    }

    pub fn provider(&self, id: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.settings.id == id)
    }

    /// Returns the ways to sign in.
    pub fn methods(&self) -> SignInMethods {
        let providers = self.providers.iter().map(|Provider { settings, .. }| SignInProvider {
            id: settings.id.clone(),
            name: settings.name.clone(),
            start_url: format!("{}/start", path(&settings.id)),
        });
        SignInMethods { password: true, providers: providers.collect() }
    }
}

fn path(provider: &str) -> String {
    format!("{API_ROOT}/auth/oidc/{provider}")
}
