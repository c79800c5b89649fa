//! `/organizations/{orgId}/members/{userId}/sign-in-link`

use axum::http::StatusCode;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::sign_in::SignInLink;
use greenroom_app::sign_in::link;
use greenroom_domain::id::UserId;
use greenroom_domain::policy::action::MemberManage;

use crate::http::rules::command::HandlerResult;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::{MemberPath, OrganizationPath, PathParams, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::CommandProblems;
use crate::http::rules::record_response::RecordResponse;

/// Make a link with which a member signs in for the first time. Only this response contains it
///
/// The link is valid for 15 minutes and can be used once; a new one voids the one before. It is refused for
/// owners and for yourself (`403`), and for people who have signed in before or are members of another
/// organization too (`409`): the operator enrolls them. All of this is checked again when the link is used. The
/// person then reaches this organization only. If the request is repeated with the same `Idempotency-Key`, the
/// response does not contain the link again.
#[utoipa::path(post, path = "/organizations/{orgId}/members/{userId}/sign-in-link", tag = "identity",
    params(OrganizationPath, MemberPath, IdempotencyKey),
    responses((status = 201, body = Data<SignInLink>), CommandProblems))]
pub async fn create_sign_in_link(
    permit: Permit<MemberManage>,
    path: PathParams<MemberPath>,
    key: IdempotencyKey,
) -> HandlerResult {
    let user: UserId = parse_id(&path.0.user_id)?;
    let mut command = permit.open(key, &[]).await?;
    let made = link::create(&mut command, user).await?;
    let stored = SignInLink { user_id: user.to_string(), expires_at: made.expires_at, url: None };
    let url = Some(link::url(&permit.app.sign_in.public_url, &made.secret));
    let sent = SignInLink { url, ..stored.clone() };
    Ok(command.finish(RecordResponse::new(StatusCode::CREATED, &sent)?.with_stored_record(&stored)?).await?)
}
