//! Reads sessions: a single one, the queue, and an environment's history.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{EnvironmentId, OrganizationId, SessionId, UserId};
use greenroom_domain::owner::{Owner, ServiceToken};
use greenroom_domain::queue::heartbeat_deadline;
use greenroom_domain::session::{SessionEnd, SessionStatus};
use jiff::{SignedDuration, Timestamp};

use crate::error::parse_column;
use crate::page::{MAX_COUNT, Page, Total};
use crate::token_columns::service_token;
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub status: SessionStatus,
    /// The deadline of the next heartbeat of a waiting session: until then its place is kept.
    pub heartbeat_by: Option<Timestamp>,
    /// The deadline of the confirmation of a grant from the queue.
    pub confirm_by: Option<Timestamp>,
    /// The session's lease has expired, but the expiry is not recorded yet.
    pub unsettled: bool,
    pub user_id: UserId,
    pub user_name: String,
    pub user_kind: String,
    /// The token that claimed it, if its user is a service account.
    pub token: Option<ServiceToken>,
    pub context: Option<String>,
    pub commit_id: Option<String>,
    pub fence: Option<i64>,
    pub position: Option<i64>,
    pub queued_at: Option<Timestamp>,
    pub claimed_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
    pub max_expires_at: Option<Timestamp>,
    /// How long the lease of an active session lasts, by the clock of the statement that read it.
    pub lease_remaining_ms: Option<i64>,
    /// How long the lease can last at most, by the same clock.
    pub max_remaining_ms: Option<i64>,
    pub ended_at: Option<Timestamp>,
    pub ended_by: Option<UserId>,
    pub ended_by_name: Option<String>,
    pub override_session_id: Option<SessionId>,
    pub override_reason: Option<String>,
    pub previous_session_id: Option<SessionId>,
    /// The holder's response to this session's last hand-over request, if it was declined.
    pub handover_declined: Option<DeclinedHandover>,
}

impl Session {
    pub fn owner(&self) -> Owner {
        Owner { user: self.user_id, token: self.token.as_ref().map(|token| token.id) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclinedHandover {
    pub by: Option<UserId>,
    pub by_name: Option<String>,
    pub at: Timestamp,
    pub context: Option<String>,
}

/// A period of time. Without a bound it has no begin or no end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    pub from: Option<Timestamp>,
    /// The first moment after the period.
    pub to: Option<Timestamp>,
}

struct Row {
    id: uuid::Uuid,
    status: String,
    user_id: uuid::Uuid,
    user_name: String,
    user_kind: String,
    owner_token_id: Option<uuid::Uuid>,
    token_name: Option<String>,
    context: Option<String>,
    commit_id: Option<String>,
    fence: Option<i64>,
    position: Option<i64>,
    queued_at: Option<jiff_sqlx::Timestamp>,
    heard_at: Option<jiff_sqlx::Timestamp>,
    stay_seconds: i64,
    claimed_at: Option<jiff_sqlx::Timestamp>,
    expires_at: Option<jiff_sqlx::Timestamp>,
    max_expires_at: Option<jiff_sqlx::Timestamp>,
    ended_at: Option<jiff_sqlx::Timestamp>,
    ended_by: Option<uuid::Uuid>,
    ended_by_name: Option<String>,
    override_session_id: Option<uuid::Uuid>,
    override_reason: Option<String>,
    previous_session_id: Option<uuid::Uuid>,
    handover_declined_by: Option<uuid::Uuid>,
    handover_declined_by_name: Option<String>,
    handover_declined_at: Option<jiff_sqlx::Timestamp>,
    handover_declined_context: Option<String>,
    /// This and the following columns are those of the lock, if this session holds it.
    confirmed: Option<bool>,
    lease_expires_at: Option<jiff_sqlx::Timestamp>,
    is_over: Option<bool>,
    lease_remaining_ms: Option<i64>,
    max_remaining_ms: Option<i64>,
}

impl TryFrom<Row> for Session {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let time = |at: Option<jiff_sqlx::Timestamp>| at.map(jiff_sqlx::Timestamp::to_jiff);
        let mut status: SessionStatus = parse_column("sessions.status", &row.status)?;
        let mut ended_at = time(row.ended_at);
        let mut fence = row.fence;
        // The lease has expired, even if the expiry is not recorded yet.
        let unsettled = status == SessionStatus::Active && row.is_over == Some(true);
        if unsettled {
            status = SessionEnd::of_expired_lease(row.confirmed.unwrap_or(true)).status();
            ended_at = time(row.lease_expires_at);
        }
        if status == SessionStatus::Queued {
            fence = None;
        }
        // The statement reads the clock more than once, so that the rest of a lease that is about to expire
        // can be negative.
        let remaining = |ms: Option<i64>| ms.filter(|_| status == SessionStatus::Active).map(|ms| ms.max(0));
        Ok(Self {
            id: row.id.into(),
            status,
            unsettled,
            heartbeat_by: time(row.heard_at)
                .filter(|_| status == SessionStatus::Queued)
                .map(|at| heartbeat_deadline(at, SignedDuration::from_secs(row.stay_seconds))),
            confirm_by: time(row.lease_expires_at)
                .filter(|_| status == SessionStatus::Active && row.confirmed == Some(false)),
            user_id: row.user_id.into(),
            user_name: row.user_name,
            user_kind: row.user_kind,
            token: service_token(row.owner_token_id, row.token_name),
            context: row.context,
            commit_id: row.commit_id,
            fence,
            position: row.position.filter(|_| status == SessionStatus::Queued),
            queued_at: time(row.queued_at),
            claimed_at: time(row.claimed_at),
            expires_at: time(row.lease_expires_at.or(row.expires_at)),
            max_expires_at: time(row.max_expires_at),
            lease_remaining_ms: remaining(row.lease_remaining_ms),
            max_remaining_ms: remaining(row.max_remaining_ms),
            ended_at,
            ended_by: row.ended_by.map(UserId::from),
            ended_by_name: row.ended_by_name,
            override_session_id: row.override_session_id.map(SessionId::from),
            override_reason: row.override_reason,
            previous_session_id: row.previous_session_id.map(SessionId::from),
            handover_declined: time(row.handover_declined_at).map(|at| DeclinedHandover {
                by: row.handover_declined_by.map(UserId::from),
                by_name: row.handover_declined_by_name,
                at,
                context: row.handover_declined_context,
            }),
        })
    }
}

macro_rules! session_query {
    ($rest:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"select s.id, s.status, s.user_id, s.user_name, s.user_kind, s.owner_token_id, s.token_name,
                      s.context, s.commit_id, s.fence,
                      case when s.status = 'queued' then
                          (select count(*) from sessions w where w.organization_id = $1
                             and w.environment_id = s.environment_id and w.waiting and w.ordinal <= s.ordinal)
                      end as position,
                      s.queued_at, s.heard_at, s.stay_seconds, s.claimed_at, s.expires_at, s.max_expires_at, s.ended_at, s.ended_by, s.ended_by_name,
                      s.override_session_id, s.override_reason, s.handover_declined_by, s.handover_declined_by_name,
                      s.handover_declined_at, s.handover_declined_context,
                      (select p.id from sessions p where p.organization_id = $1
                           and p.environment_id = s.environment_id and p.ordinal = s.ordinal - 1) as previous_session_id,
                      e.confirmed as "confirmed?", e.expires_at as lease_expires_at,
                      e.expires_at <= clock_timestamp() as is_over,
                      floor(extract(epoch from e.expires_at - clock_timestamp()) * 1000)::bigint as lease_remaining_ms,
                      floor(extract(epoch from e.max_expires_at - clock_timestamp()) * 1000)::bigint as max_remaining_ms
               from sessions s
               left join environments e on e.organization_id = $1 and e.id = s.environment_id and e.session_id = s.id
               where s.organization_id = $1 and "# + $rest,
            $($argument),*
        )
    };
}

#[boxed_futures]
impl Store {
    pub async fn session(
        &self,
        organization: OrganizationId,
        environment: EnvironmentId,
        id: SessionId,
    ) -> Result<Option<Session>, StoreError> {
        let row = session_query!(
            "s.environment_id = $2 and s.id = $3",
            organization.uuid(),
            environment.uuid(),
            id.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        row.map(Session::try_from).transpose()
    }

    pub async fn sessions_of_ids(
        &self,
        organization: OrganizationId,
        ids: &[SessionId],
    ) -> Result<Vec<Session>, StoreError> {
        let ids: Vec<uuid::Uuid> = ids.iter().map(|id| id.uuid()).collect();
        let rows =
            session_query!("s.id = any($2)", organization.uuid(), &ids).fetch_all(&self.pool()).await?;
        rows.into_iter().map(Session::try_from).collect()
    }

    /// Returns the sessions with ordinals in `(newest - skip - limit, newest - skip]`, newest first.
    pub async fn session_history(
        &self,
        organization: OrganizationId,
        environment: EnvironmentId,
        newest: i64,
        skip: i64,
        limit: i64,
    ) -> Result<Vec<Session>, StoreError> {
        let from = newest.saturating_sub(skip);
        let rows = session_query!(
            "s.environment_id = $2 and s.ordinal <= $3 and s.ordinal > $4 order by s.ordinal desc",
            organization.uuid(),
            environment.uuid(),
            from,
            from.saturating_sub(limit),
        )
        .fetch_all(&self.pool())
        .await?;
        rows.into_iter().map(Session::try_from).collect()
    }

    /// Returns the sessions that waited for the environment or held it at some time in a period, newest
    /// first.
    pub async fn sessions_in_period(
        &self,
        organization: OrganizationId,
        environment: EnvironmentId,
        period: Period,
        page: Page,
    ) -> Result<Vec<Session>, StoreError> {
        let rows = session_query!(
            "s.environment_id = $2 and ($3::timestamptz is null or coalesce(s.ended_at, $3) >= $3)
             and ($4::timestamptz is null or coalesce(s.queued_at, s.claimed_at) < $4)
             order by s.ordinal desc limit $5 offset $6",
            organization.uuid(),
            environment.uuid(),
            period.from.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            period.to.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        rows.into_iter().map(Session::try_from).collect()
    }

    pub async fn count_sessions_in_period(
        &self,
        organization: OrganizationId,
        environment: EnvironmentId,
        period: Period,
    ) -> Result<Total, StoreError> {
        let counted = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from sessions s
                   where s.organization_id = $1 and s.environment_id = $2
                     and ($3::timestamptz is null or coalesce(s.ended_at, $3) >= $3)
                     and ($4::timestamptz is null or coalesce(s.queued_at, s.claimed_at) < $4)
                   limit $5
               ) counted"#,
            organization.uuid(),
            environment.uuid(),
            period.from.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            period.to.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        Ok(Total::counted(counted))
    }

    pub async fn session_queue(
        &self,
        organization: OrganizationId,
        environment: EnvironmentId,
    ) -> Result<Vec<Session>, StoreError> {
        let rows = session_query!(
            "s.environment_id = $2 and s.waiting order by s.ordinal limit 1000",
            organization.uuid(),
            environment.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        rows.into_iter().map(Session::try_from).collect()
    }
}

#[boxed_futures]
impl OrgTransaction {
    pub async fn session(
        &mut self,
        environment: EnvironmentId,
        id: SessionId,
    ) -> Result<Option<Session>, StoreError> {
        let organization = self.organization();
        let row = session_query!(
            "s.environment_id = $2 and s.id = $3",
            organization,
            environment.uuid(),
            id.uuid()
        )
        .fetch_optional(self.connection())
        .await?;
        row.map(Session::try_from).transpose()
    }
}
