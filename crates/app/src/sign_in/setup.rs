//! The first owner: creates the first organization in a browser, with a link that the daemon prints.

use std::net::IpAddr;

use greenroom_api_types::sign_in::SetUp;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::browser_session::{SignInMethod, SignInSecret};
use greenroom_domain::id::{OrganizationId, UserId};
use greenroom_domain::slug::Slug;
use greenroom_domain::text::{Email, Name};
use greenroom_store::system::bootstrap::NewOrganization;
use greenroom_store::system::setup::UnusableLink;
use greenroom_store::{Store, StoreError};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::App;
use crate::browser_session::{Browser, begin, new_secret};
use crate::failure::{Code, Failure};
use crate::public_url::PublicUrl;
use crate::sign_in::link::NewLink;

/// Makes the link, and voids the one before. Returns `None` if an organization exists.
#[boxed_futures]
pub async fn create_link(store: &Store) -> Result<Option<NewLink>, StoreError> {
    let secret = new_secret();
    let expires_at = store.create_setup_link(&secret.hash()).await?;
    Ok(expires_at.map(|expires_at| NewLink { secret, expires_at }))
}

/// Returns the address of the link. The code is in the fragment, which browsers send to no server.
pub fn url(public_url: &PublicUrl, secret: &SignInSecret) -> String {
    public_url.join(&format!("/setup#{}", secret.reveal()))
}

/// Creates the first organization and signs its owner in, in one transaction.
#[boxed_futures]
pub async fn set_up(
    app: &App,
    request: &SetUp,
    address: IpAddr,
    browser: &Browser<'_>,
) -> Result<SignInSecret, Failure> {
    let name =
        Name::new(&request.organization_name).map_err(|error| Failure::field("/organizationName", error))?;
    let slug: Slug =
        request.organization_slug.parse().map_err(|error| Failure::field("/organizationSlug", error))?;
    let organization = NewOrganization {
        id: OrganizationId::from(Uuid::now_v7()),
        slug: &slug,
        name: &name,
        owner_id: UserId::from(Uuid::now_v7()),
        owner_email: &Email::new(&request.email).map_err(|error| Failure::field("/email", error))?,
        owner_name: &Name::new(&request.name).map_err(|error| Failure::field("/name", error))?,
    };
    // Guesses are counted per code and per address: those of a stranger do not keep the owner out.
    let account = Sha256::digest(request.code.as_bytes()).into();
    app.limits.tries.begin(account, address)?;
    let hash = SignInSecret::parse(&request.code).map_err(|_| invalid_link())?.hash();
    let used = app.store.set_up(&hash, &organization, browser.request_id).await?;
    let transaction = used.map_err(|unusable| match unusable {
        UnusableLink::AlreadySetUp => {
            // Nothing is left to guess.
            app.limits.tries.succeeded(account, address);
            already_set_up()
        }
        UnusableLink::Invalid => invalid_link(),
    })?;
    let secret = begin(app, transaction, SignInMethod::Link, browser).await?;
    app.limits.tries.succeeded(account, address);
    Ok(secret)
}

/// The same for every reason.
fn invalid_link() -> Failure {
    Failure::new(
        Code::SignInFailed,
        "The link is not valid: it is older than 15 minutes, or a newer one was printed. Restart the server, which prints a new one.",
    )
}

fn already_set_up() -> Failure {
    Failure::new(
        Code::AlreadySetUp,
        "The first organization exists. Sign in; without a password, ask an admin of the organization or the operator for a link: \
         `greenroomd admin sign-in-link`. The operator creates further organizations: `greenroomd admin bootstrap`.",
    )
}
