//! `/organizations/{orgId}/me/notices`: sessions of the caller that others ended.

use axum::Json;
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::notice::{Notice, NoticesRead};
use greenroom_api_types::person::Person;
use greenroom_app::web_url::WebUrls;
use greenroom_domain::policy::action::{EnvironmentRead, NoticeMarkRead};
use greenroom_store::notice::{Notice as Record, NoticeFilter};

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list_with};
use crate::http::rules::path::OrganizationPath;
use crate::http::rules::permit::{Narrowed, Permit};
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// List what ended your sessions without you, until you mark it as read
///
/// A session that you claimed or queued with a browser or a token of kind `user` is listed if another user took
/// the environment over by force, if it lost its place in a queue, or if it missed its turn, in the last seven
/// days. The list is ordered by when the sessions ended, newest first. No other user can read it. A token that
/// is limited to pipelines sees only notices of those. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/me/notices", tag = "environments",
    params(OrganizationPath, PageQuery),
    responses((status = 200, body = List<Notice>), ReadProblems))]
pub async fn list_notices(
    permit: Permit<EnvironmentRead, Narrowed>,
    query: Query<PageQuery>,
) -> Result<Json<List<Notice>>, EarlyResponse> {
    let page = query.0.page()?;
    let filter = NoticeFilter { user: permit.principal.user_id, within: permit.principal.pipelines.clone() };
    let found = permit.app.store.notices(permit.organization(), &filter, page).await?;
    let urls = permit.web_urls();
    Ok(Json(list_with(page, found, |record| notice(urls, record))))
}

/// Mark your notices as read
///
/// Notices whose `at` is not later than `until` are no longer listed. The response states until when notices
/// are read: the time never goes back, and is never in the future. No event is recorded. A token that is
/// limited to pipelines can't do this, because it does not see all notices.
#[utoipa::path(put, path = "/organizations/{orgId}/me/notices/read", tag = "environments",
    params(OrganizationPath, IdempotencyKey),
    request_body = NoticesRead,
    responses((status = 200, body = Data<NoticesRead>), CommandProblems, BodyProblems))]
pub async fn mark_notices_read(
    permit: Permit<NoticeMarkRead>,
    key: IdempotencyKey,
    body: Body<NoticesRead>,
) -> HandlerResult {
    let mut command = permit.open(key, &body.bytes).await?;
    let until = command.mark_notices_read(body.value.until).await?;
    Ok(command.finish(RecordResponse::ok(&NoticesRead { until })?).await?)
}

fn notice(urls: WebUrls<'_>, record: Record) -> Notice {
    let by_name = record.by_name.unwrap_or_default();
    Notice {
        kind: record.kind.into(),
        web_url: urls.session(record.pipeline_id, &record.env_name, record.session_id),
        session_id: record.session_id.to_string(),
        env_name: record.env_name,
        pipeline_id: record.pipeline_id.to_string(),
        pipeline: record.pipeline_slug,
        at: record.ended_at,
        by: record.by.map(|id| Person { id: id.to_string(), name: by_name }),
        context: record.reason,
    }
}
