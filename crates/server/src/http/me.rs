//! Who am I?

use axum::Json;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::me::Me;

use crate::http::permit::Caller;

/// The caller: user, organization, role and token; for whoever does not know the organization yet
#[utoipa::path(get, path = "/me", tag = "identity", responses((status = 200, body = Data<Me>)))]
pub async fn get_me(caller: Caller) -> Json<Data<Me>> {
    Json(Data { data: Me::from(&*caller.principal) })
}

/// The caller: user, organization, role and token
#[utoipa::path(get, path = "/organizations/{orgId}/me", tag = "identity",
    params(("orgId" = String, Path, description = "Id or slug")),
    responses((status = 200, body = Data<Me>)))]
pub async fn get_organization_me(caller: Caller) -> Json<Data<Me>> {
    get_me(caller).await
}
