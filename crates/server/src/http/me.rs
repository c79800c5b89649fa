//! `/me`: the authenticated user, and the token or browser session.

use axum::Json;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::me::Me;
use greenroom_app::failure::Failure;

use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::path::OrganizationPath;
use crate::http::rules::permit::{AuthenticatedRequest, Caller};
use crate::http::rules::problem_responses::ReadProblems;

/// View the user, organization, role and token of the caller. The path needs no organization id
///
/// The response states what this token permits now. A change of the role and a revocation take effect within
/// one second. Every token may send this request, whatever its scopes. For a browser session, `organizations`
/// lists all organizations of the person, sorted by slug; the organization and role beside it are those of the
/// first one.
#[utoipa::path(get, path = "/me", tag = "identity", responses((status = 200, body = Data<Me>), ReadProblems))]
pub async fn get_me(caller: Caller) -> Result<Json<Data<Me>>, EarlyResponse> {
    let me = match caller {
        Caller::Token(principal) => Some(Me::from(&*principal)),
        Caller::Browser(browser) => Me::of_browser(&browser),
    };
    Ok(Json(Data { data: me.ok_or_else(Failure::unauthenticated)? }))
}

/// View the user, organization, role and token of the caller
///
/// The response states what this token permits now. A change of the role and a revocation take effect within
/// one second. Every token may send this request, whatever its scopes. An organization that is not the
/// token's, or not one of the signed-in person's, is `404`.
#[utoipa::path(get, path = "/organizations/{orgId}/me", tag = "identity",
    params(OrganizationPath),
    responses((status = 200, body = Data<Me>), ReadProblems))]
pub async fn get_organization_me(caller: AuthenticatedRequest) -> Json<Data<Me>> {
    Json(Data { data: Me::from(&*caller.principal) })
}
