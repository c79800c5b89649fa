//! Browser sessions: beginning, listing and ending them.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::browser_session::{BrowserPrincipal, SignInMethod, SignInSecret, stored_user_agent};
use greenroom_domain::id::{BrowserSessionId, UserId};
use greenroom_store::system::sign_in::{NewBrowserSession, SignInTransaction};
use rand::RngExt;
use uuid::Uuid;

use crate::App;
use crate::command::notify;
use crate::failure::{Code, Failure};

/// The browser that signs in.
pub struct Browser<'a> {
    pub user_agent: &'a str,
    /// The session that it had before. It ends, also if it belongs to another person.
    pub previous: Option<&'a BrowserPrincipal>,
    pub request_id: &'a str,
}

/// Begins a session in the transaction that has checked who the person is, and commits it. The secret is
/// returned once and not stored.
#[boxed_futures]
pub async fn begin(
    app: &App,
    mut transaction: SignInTransaction,
    method: SignInMethod,
    browser: &Browser<'_>,
) -> Result<SignInSecret, Failure> {
    // The same response as for a wrong password: whether the account exists is not disclosed.
    if !transaction.reaches_an_organization().await? {
        return Err(sign_in_failed());
    }
    let secret = new_secret();
    let new = NewBrowserSession {
        id: BrowserSessionId::from(Uuid::now_v7()),
        secret_hash: secret.hash(),
        method,
        user_agent: &stored_user_agent(browser.user_agent),
    };
    transaction.create_session(&new).await?;
    transaction.commit().await?;
    notify(app, false);
    app.authentication.remember(secret.hash()).await;
    metrics::counter!("greenroom_sign_ins_total", "method" => method.as_str(), "outcome" => "signed_in")
        .increment(1);
    if let Some(previous) = browser.previous {
        end(app, previous.user_id, previous.session_id, browser.request_id).await?;
    }
    Ok(secret)
}

/// Ends a session of a user. Returns whether the user had it.
#[boxed_futures]
pub async fn end(
    app: &App,
    user: UserId,
    session: BrowserSessionId,
    request_id: &str,
) -> Result<bool, Failure> {
    let Some(mut transaction) = app.store.sign_in_transaction(user, request_id).await? else {
        return Ok(false);
    };
    let has_ended = transaction.end_session(session).await?;
    transaction.commit().await?;
    notify(app, false);
    Ok(has_ended)
}

/// Ends all sessions of a user except one. Returns those that have ended.
#[boxed_futures]
pub async fn end_others(
    app: &App,
    user: UserId,
    except: BrowserSessionId,
    request_id: &str,
) -> Result<Vec<BrowserSessionId>, Failure> {
    let Some(mut transaction) = app.store.sign_in_transaction(user, request_id).await? else {
        return Ok(Vec::new());
    };
    let ended = transaction.end_sessions(Some(except)).await?;
    transaction.commit().await?;
    notify(app, false);
    Ok(ended)
}

/// The same for every reason, so that it discloses neither which accounts exist nor how they sign in.
pub fn sign_in_failed() -> Failure {
    Failure::new(Code::SignInFailed, "That did not match. Check what you entered, or ask for a new link.")
}

pub fn new_secret() -> SignInSecret {
    SignInSecret::new(rand::rng().random())
}
