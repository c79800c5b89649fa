//! Signing in with a password, and changing it.

use std::net::IpAddr;

use greenroom_api_types::sign_in::{ChangePassword, PasswordSignIn};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::browser_session::{BrowserPrincipal, SignInMethod, SignInSecret};
use greenroom_domain::id::BrowserSessionId;
use greenroom_domain::password::{MAX_LENGTH, Password};
use greenroom_domain::text::Email;
use sha2::{Digest, Sha256};

use crate::App;
use crate::browser_session::{Browser, begin, sign_in_failed};
use crate::command::notify;
use crate::failure::Failure;
use crate::limits::Account;
use crate::sign_in::password_hash::{hash, verify};

/// Signs a person in. All failures have the same response and take the same time.
#[boxed_futures]
pub async fn sign_in(
    app: &App,
    request: &PasswordSignIn,
    address: IpAddr,
    browser: &Browser<'_>,
) -> Result<SignInSecret, Failure> {
    let account = account(&request.email);
    app.limits.tries.begin(account, address)?;
    let found = match Email::new(&request.email) {
        Ok(email) => app.store.password_of_email(&email).await?,
        Err(_) => None,
    };
    let (user, stored) = found.unzip();
    let is_possible = request.password.chars().count() <= MAX_LENGTH;
    let password = if is_possible { request.password.clone() } else { String::new() };
    let matches = verify(password, stored.clone()).await?;
    let Some(user) = user.filter(|_| matches && is_possible) else {
        metrics::counter!("greenroom_sign_ins_total", "method" => "password", "outcome" => "failed")
            .increment(1);
        return Err(sign_in_failed());
    };
    let transaction = app.store.sign_in_transaction(user, browser.request_id).await?;
    let mut transaction = transaction.ok_or_else(sign_in_failed)?;
    // The password may have been changed while the old one was verified.
    if transaction.password().await? != stored {
        return Err(sign_in_failed());
    }
    let secret = begin(app, transaction, SignInMethod::Password, browser).await?;
    app.limits.tries.succeeded(account, address);
    Ok(secret)
}

/// Changes or sets the password of the person who is signed in, and ends their other browser sessions. Returns
/// those.
#[boxed_futures]
pub async fn change(
    app: &App,
    browser: &BrowserPrincipal,
    request: &ChangePassword,
    address: IpAddr,
    request_id: &str,
) -> Result<Vec<BrowserSessionId>, Failure> {
    let new = Password::new(&request.new_password).map_err(|error| Failure::field("/newPassword", error))?;
    let stored = app.store.password_of(browser.user_id).await?;
    if stored.is_some() {
        let Some(current) = &request.current_password else {
            return Err(Failure::field("/currentPassword", "is missing"));
        };
        let account = account(&browser.email);
        app.limits.tries.begin(account, address)?;
        if current.chars().count() > MAX_LENGTH || !verify(current.clone(), stored.clone()).await? {
            return Err(Failure::field("/currentPassword", "does not match"));
        }
        app.limits.tries.succeeded(account, address);
    }
    let hashed = hash(new, related_words(browser)).await?;
    let transaction = app.store.sign_in_transaction(browser.user_id, request_id).await?;
    let mut transaction = transaction.ok_or_else(Failure::unauthenticated)?;
    if !transaction.has_session(browser.session_id).await? {
        return Err(Failure::unauthenticated());
    }
    if transaction.password().await? != stored {
        return Err(Failure::field("/currentPassword", "was changed in the meantime"));
    }
    transaction.set_password(&hashed).await?;
    let ended = transaction.end_sessions(Some(browser.session_id)).await?;
    transaction.commit().await?;
    notify(app, false);
    Ok(ended)
}

/// Returns what an acquaintance of the person would try first.
fn related_words(browser: &BrowserPrincipal) -> Vec<String> {
    let members = browser.memberships.iter();
    let names = members.flat_map(|member| [member.user_name.clone(), member.organization_slug.clone()]);
    names.chain([browser.email.clone(), "greenroom".to_owned()]).collect()
}

fn account(email: &str) -> Account {
    Sha256::digest(email.to_lowercase().as_bytes()).into()
}
