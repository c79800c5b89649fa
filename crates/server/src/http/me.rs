//! Who am I?

use axum::Json;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::me::Me;
use greenroom_domain::policy::action::OrganizationRead;

use crate::http::permit::Permit;

/// The caller: user, organization, role and token; for whoever does not know the organization yet
#[utoipa::path(get, path = "/me", tag = "identity", responses((status = 200, body = Data<Me>)))]
pub async fn get_me(permit: Permit<OrganizationRead>) -> Json<Data<Me>> {
    Json(Data { data: Me::from(&*permit.principal) })
}

/// The caller: user, organization, role and token
#[utoipa::path(get, path = "/organizations/{orgId}/me", tag = "identity",
    params(("orgId" = String, Path, description = "Id or slug")),
    responses((status = 200, body = Data<Me>)))]
pub async fn get_organization_me(permit: Permit<OrganizationRead>) -> Json<Data<Me>> {
    get_me(permit).await
}
