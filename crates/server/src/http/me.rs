//! Who am I?

use axum::Json;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::me::Me;
use greenroom_domain::policy::action::OrganizationRead;

use crate::http::permit::Permit;

/// The caller: user, organization, role and token
#[utoipa::path(get, path = "/me", tag = "identity", responses((status = 200, body = Data<Me>)))]
pub async fn get_me(permit: Permit<OrganizationRead>) -> Json<Data<Me>> {
    Json(Data { data: Me::from(&*permit.principal) })
}
