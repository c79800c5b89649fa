//! Sign-in links: making one for a member, and signing in with it.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::browser_session::{SignInMethod, SignInSecret};
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::UserId;
use greenroom_domain::sign_in::EnrollmentRefusal;
use greenroom_store::Command;
use jiff::Timestamp;
use serde_json::json;

use crate::App;
use crate::browser_session::{Browser, begin, new_secret, sign_in_failed};
use crate::failure::{Code, Failure};
use crate::public_url::PublicUrl;

/// A link that was just made.
pub struct NewLink {
    pub secret: SignInSecret,
    pub expires_at: Timestamp,
}

/// Makes a link with which a member signs in for the first time. The secret is returned once and not stored.
#[boxed_futures]
pub async fn create(command: &mut Command, user: UserId) -> Result<NewLink, Failure> {
    let enrollment = command.enrollment_of(user).await?.ok_or_else(Failure::not_found)?;
    enrollment.check().map_err(refused)?;
    let secret = new_secret();
    let expires_at = command.create_sign_in_link(user, &secret.hash()).await?;
    command
        .record_event(NewEvent {
            event_type: EventType::MemberSignInLinkCreated,
            subject: format!("members/{user}"),
            before: None,
            after: Some(json!({ "userId": user, "expiresAt": expires_at })),
            reason: None,
        })
        .await?;
    Ok(NewLink { secret, expires_at })
}

/// Signs in with a link. What made the link permissible is checked again.
#[boxed_futures]
pub async fn sign_in(app: &App, code: &str, browser: &Browser<'_>) -> Result<SignInSecret, Failure> {
    let hash = SignInSecret::parse(code).map_err(|_| sign_in_failed())?.hash();
    let user = app.store.user_of_sign_in_link(&hash).await?.ok_or_else(sign_in_failed)?;
    let transaction = app.store.sign_in_transaction(user, browser.request_id).await?;
    let mut transaction = transaction.ok_or_else(sign_in_failed)?;
    let link = transaction.use_link(&hash).await?.ok_or_else(sign_in_failed)?;
    match link.made_by {
        Some((organization, admin)) => {
            let enrollment = transaction.enrollment(organization, admin).await?;
            if enrollment.is_none_or(|enrollment| enrollment.check().is_err()) {
                return Err(sign_in_failed());
            }
            transaction.enroll_in(organization, admin).await?;
        }
        None => transaction.reset().await?,
    }
    begin(app, transaction, SignInMethod::Link, browser).await
}

/// Returns the address of a link. The code is in the fragment, which browsers send to no server.
pub fn url(public_url: &PublicUrl, secret: &SignInSecret) -> String {
    public_url.join(&format!("/welcome#{}", secret.reveal()))
}

fn refused(refusal: EnrollmentRefusal) -> Failure {
    match refusal {
        EnrollmentRefusal::Owner => Failure::new(
            Code::Forbidden,
            "Owners are enrolled by the operator of this installation: `greenroomd admin sign-in-link`.",
        ),
        EnrollmentRefusal::Oneself => Failure::new(
            Code::Forbidden,
            "You can't make a sign-in link for yourself. Ask another admin, or the operator of this installation.",
        ),
        EnrollmentRefusal::AlreadyEnrolled => Failure::new(
            Code::AlreadyEnrolled,
            "This person can sign in already. The operator of this installation can reset the account: \
             `greenroomd admin sign-in-link`.",
        ),
    }
}
