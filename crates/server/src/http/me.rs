//! `/me`: the authenticated user and token.

use axum::Json;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::me::Me;

use crate::http::rules::path::OrganizationPath;
use crate::http::rules::permit::AuthenticatedRequest;
use crate::http::rules::problem_responses::ReadProblems;

/// View the user, organization, role and token of the caller. The path needs no organization id
///
/// The response states what this token permits now. A change of the role and a revocation take effect within
/// one second. Every token may send this request, whatever its scopes.
#[utoipa::path(get, path = "/me", tag = "identity", responses((status = 200, body = Data<Me>), ReadProblems))]
pub async fn get_me(caller: AuthenticatedRequest) -> Json<Data<Me>> {
    Json(Data { data: Me::from(&*caller.principal) })
}

/// View the user, organization, role and token of the caller
///
/// The response states what this token permits now. A change of the role and a revocation take effect within
/// one second. Every token may send this request, whatever its scopes. An organization that is not the
/// token's is `404`.
#[utoipa::path(get, path = "/organizations/{orgId}/me", tag = "identity",
    params(OrganizationPath),
    responses((status = 200, body = Data<Me>), ReadProblems))]
pub async fn get_organization_me(caller: AuthenticatedRequest) -> Json<Data<Me>> {
    get_me(caller).await
}
