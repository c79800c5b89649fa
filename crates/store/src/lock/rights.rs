//! Current rights of waiting sessions, by the roles of their users in the organization and on the pipeline. They
//! are read in the transaction that decides, after the environment's row is locked.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{EnvironmentId, PipelineId, TokenId, UserId};
use greenroom_domain::lease::LeaseTerms;
use greenroom_domain::owner::Owner;
use greenroom_domain::policy::Action;
use greenroom_domain::queue::{Queue, Waiter};
use greenroom_domain::rights::{Rights, TokenState};
use greenroom_domain::role::Role;
use greenroom_domain::role_grant::role_on_pipeline;
use jiff::SignedDuration;

use crate::StoreError;
use crate::error::parse_column;
use crate::role_grant::{granted_roles, raisable_roles};
use crate::transaction::OrgTransaction;

#[boxed_futures]
impl OrgTransaction {
    /// Returns the queue with the current rights of each waiter.
    pub(super) async fn load_queue(
        &mut self,
        (pipeline, environment): (PipelineId, EnvironmentId),
        force_role: Role,
    ) -> Result<Queue, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query!(
            r#"select s.id, s.user_id, s.user_kind, s.lease_seconds, s.longest_seconds, s.heard_at as "heard_at!",
                      s.stay_seconds, s.token_id, s.owner_token_id, m.role as "role?", t.max_sessions as "max_sessions?",
                      case when m.role = any($5) then array(select distinct g.role from user_grants g
                          where g.organization_id = $1 and g.pipeline_id = $4 and g.user_id = s.user_id) end as "granted?: Vec<String>",
                      case when b.id is null then t.allow_force else true end as "allow_force?"
               from sessions s
               left join memberships m on m.organization_id = $1 and m.user_id = s.user_id and m.removed_at is null
               left join api_tokens t on t.organization_id = $1 and t.id = s.token_id and t.revoked_at is null
                   and (t.expires_at is null or t.expires_at > clock_timestamp()) and $3 = any(t.scopes)
               left join live_browser_sessions b on b.id = s.token_id and b.user_id = s.user_id
               where s.organization_id = $1 and s.environment_id = $2 and s.waiting
               order by s.ordinal"#,
            organization,
            environment.uuid(),
            Action::SessionHold.scope().as_str(),
            pipeline.uuid(),
            &raisable_roles(),
        )
        .fetch_all(self.connection())
        .await?;
        let limited = rows.iter().filter(|row| row.max_sessions.is_some());
        let limited: Vec<uuid::Uuid> = limited.filter_map(|row| row.token_id).collect();
        let at_limit = self.tokens_at_session_limit(environment, &limited).await?;
        let mut queue = Queue::default();
        for row in rows {
            let role = row.role.as_deref().map(|role| parse_column("memberships.role", role)).transpose()?;
            let granted = granted_roles(row.granted)?;
            let role = role.map(|role| role_on_pipeline(role, granted));
            let rights = Rights::of(role, token(row.token_id, row.allow_force), force_role);
            let is_at_limit = row.token_id.is_some_and(|token| at_limit.contains(&token.into()));
            queue = queue.joined(Waiter {
                session: row.id.into(),
                owner: Owner { user: row.user_id.into(), token: row.owner_token_id.map(TokenId::from) },
                kind: parse_column("sessions.user_kind", &row.user_kind)?,
                terms: LeaseTerms {
                    length: SignedDuration::from_secs(row.lease_seconds),
                    max_length: SignedDuration::from_secs(row.longest_seconds),
                },
                heartbeat_at: row.heard_at.to_jiff(),
                timeout: SignedDuration::from_secs(row.stay_seconds),
                rights: if is_at_limit { rights.at_session_limit() } else { rights },
            });
        }
        Ok(queue)
    }

    /// Returns whether the requester of a hand-over could take the environment by force now.
    pub(super) async fn requester_can_force(
        &mut self,
        pipeline: PipelineId,
        (user, token_id): (Option<uuid::Uuid>, Option<uuid::Uuid>),
        force_role: Role,
    ) -> Result<bool, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select m.user_id, m.role, case when b.id is null then t.allow_force else true end as "allow_force!"
               from memberships m
               left join api_tokens t on t.organization_id = $1 and t.user_id = m.user_id and t.id = $3
                   and t.revoked_at is null and (t.expires_at is null or t.expires_at > clock_timestamp())
                   and $4 = any(t.scopes)
               left join live_browser_sessions b on b.id = $3 and b.user_id = m.user_id
               where m.organization_id = $1 and m.user_id = $2 and m.removed_at is null
                 and (t.id is not null or b.id is not null)"#,
            organization,
            user,
            token_id,
            Action::SessionHold.scope().as_str(),
        )
        .fetch_optional(self.connection())
        .await?;
        let Some(row) = row else { return Ok(false) };
        let role = parse_column("memberships.role", &row.role)?;
        let role = self.role_on_pipeline(pipeline, (row.user_id.into(), role)).await?;
        Ok(Rights::of(Some(role), TokenState::Valid { allow_force: row.allow_force }, force_role).can_force)
    }

    /// Returns how many queue places the user has through `ci` and `agent` tokens in the whole organization.
    /// Takes an advisory lock, so that no concurrent transaction adds one for the same user. Call this before
    /// the environment's row is locked.
    pub async fn lock_queue_places_of(&mut self, user: UserId) -> Result<i64, StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "select pg_advisory_xact_lock(hashtextextended('places of ' || $1::uuid || ' ' || $2::uuid, 0))",
            organization,
            user.uuid(),
        )
        .execute(self.connection())
        .await?;
        Ok(sqlx::query_scalar!(
            r#"select count(*) as "count!" from sessions
               where organization_id = $1 and user_id = $2 and waiting and user_kind <> 'user'"#,
            organization,
            user.uuid(),
        )
        .fetch_one(self.connection())
        .await?)
    }
}

fn token(recorded: Option<uuid::Uuid>, allow_force: Option<bool>) -> TokenState {
    match (recorded, allow_force) {
        (None, _) => TokenState::Unknown,
        (Some(_), None) => TokenState::Gone,
        (Some(_), Some(allow_force)) => TokenState::Valid { allow_force },
    }
}
