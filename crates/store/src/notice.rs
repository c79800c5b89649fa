//! Notices about a person's sessions that others ended. They are rows of `sessions`, found through an index that
//! plain claims and releases don't maintain.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, PipelineId, SessionId, UserId};
use greenroom_domain::notice::{NoticeKind, RETENTION};
use greenroom_domain::session::SessionStatus;
use greenroom_domain::token_grant::PipelineLimit;
use jiff::{SignedDuration, Timestamp};

use crate::error::{parse_column, to_column};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::token_columns::limit_ids;
use crate::{Command, Store, StoreError};

/// Longer than a session waits and holds its environment together. Sessions that were created earlier than this
/// before the oldest notice are not read.
const LONGEST_SESSION: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Whose notices are read, with which limit.
#[derive(Clone, Debug)]
pub struct NoticeFilter {
    pub user: UserId,
    /// Only notices of pipelines that the token has access to.
    pub within: PipelineLimit,
}

/// Returns the least id that a session can have whose notice is not too old: ids begin with the milliseconds of
/// their creation.
fn least_id() -> uuid::Uuid {
    let now = uuid::Uuid::now_v7().as_u128() >> 80;
    let age = (RETENTION + LONGEST_SESSION).as_millis().unsigned_abs();
    uuid::Uuid::from_u128(now.saturating_sub(age) << 80)
}

/// A session that another user, or the passing of time, has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub kind: NoticeKind,
    pub session_id: SessionId,
    pub env_name: String,
    pub pipeline_id: PipelineId,
    pub pipeline_slug: String,
    pub ended_at: Timestamp,
    /// The user who ended it; `None` if no user did.
    pub by: Option<UserId>,
    pub by_name: Option<String>,
    pub reason: Option<String>,
}

#[boxed_futures]
impl Store {
    /// Returns the notices that the user has not read, newest first.
    pub async fn notices(
        &self,
        organization: OrganizationId,
        filter: &NoticeFilter,
        page: Page,
    ) -> Result<PageResult<Notice>, StoreError> {
        let (user, within) = (filter.user.uuid(), limit_ids(&filter.within));
        let hours: i32 = to_column("the retention of notices", RETENTION.as_hours())?;
        let least_id = least_id();
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from sessions s
                   join memberships m on m.organization_id = $1 and m.user_id = s.user_id
                   join environments e on e.organization_id = $1 and e.id = s.environment_id
                   where s.organization_id = $1 and s.user_id = $2 and s.id >= $3 and s.user_kind = 'user'
                     and (s.queued_at is not null or s.override_session_id is not null)
                     and s.status in ('overridden', 'canceled') and s.ended_by is distinct from s.user_id
                     and s.ended_at > greatest(m.notices_read_at, clock_timestamp() - make_interval(hours => $4))
                     and ($5::uuid[] is null or e.pipeline_id = any($5))
                   limit $6
               ) counted"#,
            organization.uuid(),
            user,
            least_id,
            hours,
            within.as_deref(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query!(
            r#"select s.id, s.status, s.claimed_at is not null as "was_granted!", s.ended_at as "ended_at!", s.ended_by,
                      s.ended_by_name, s.override_reason, e.name, e.pipeline_id, p.slug as pipeline_slug
               from sessions s
               join memberships m on m.organization_id = $1 and m.user_id = s.user_id
               join environments e on e.organization_id = $1 and e.id = s.environment_id
               join pipelines p on p.organization_id = $1 and p.id = e.pipeline_id
               where s.organization_id = $1 and s.user_id = $2 and s.id >= $3 and s.user_kind = 'user'
                 and (s.queued_at is not null or s.override_session_id is not null)
                 and s.status in ('overridden', 'canceled') and s.ended_by is distinct from s.user_id
                 and s.ended_at > greatest(m.notices_read_at, clock_timestamp() - make_interval(hours => $4))
                 and ($5::uuid[] is null or e.pipeline_id = any($5))
               order by s.ended_at desc, s.id desc limit $6 offset $7"#,
            organization.uuid(),
            user,
            least_id,
            hours,
            within.as_deref(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let mut notices = Vec::with_capacity(rows.len());
        for row in rows {
            let status: SessionStatus = parse_column("sessions.status", &row.status)?;
            let Some(kind) = NoticeKind::of(status, row.was_granted) else { continue };
            notices.push(Notice {
                kind,
                session_id: row.id.into(),
                env_name: row.name,
                pipeline_id: row.pipeline_id.into(),
                pipeline_slug: row.pipeline_slug,
                ended_at: row.ended_at.to_jiff(),
                by: row.ended_by.map(UserId::from),
                by_name: row.ended_by_name,
                reason: row.override_reason,
            });
        }
        Ok(PageResult { rows: notices, total: Total::counted(total) })
    }
}

#[boxed_futures]
impl Command {
    /// Marks the user's notices until a time as read. Returns the time until which they are read, which is later
    /// than the requested one if they were read already. It is never in the future, so that a later notice is not
    /// marked.
    pub async fn mark_notices_read(&mut self, until: Timestamp) -> Result<Timestamp, StoreError> {
        let (organization, user) = (self.organization(), self.principal().user_id);
        let until = jiff_sqlx::Timestamp::from(until.max(Timestamp::UNIX_EPOCH));
        let read_at = sqlx::query_scalar!(
            r#"update memberships
               set notices_read_at = greatest(notices_read_at, least($3, clock_timestamp()))
               where organization_id = $1 and user_id = $2
               returning notices_read_at as "notices_read_at!""#,
            organization,
            user.uuid(),
            until as jiff_sqlx::Timestamp,
        )
        .fetch_one(self.connection())
        .await?;
        Ok(read_at.to_jiff())
    }
}
