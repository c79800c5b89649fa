//! The budget of an organization: one row, whose lock serializes reservations. `domain/model/budget.rs` decides.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::model::budget::BudgetState;
use jiff::Timestamp;

use crate::error::{from_column, to_column};
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

struct Row {
    day: jiff_sqlx::Date,
    requests: i64,
    month: jiff_sqlx::Date,
    tokens: i64,
    cost: i64,
    now: jiff_sqlx::Timestamp,
}

impl Row {
    /// Returns the stored state and the time at which it was read.
    fn state(&self) -> Result<(BudgetState, Timestamp), StoreError> {
        let state = BudgetState {
            day: self.day.to_jiff(),
            requests: from_column("model_budgets.requests", self.requests)?,
            month: self.month.to_jiff(),
            tokens: from_column("model_budgets.tokens", self.tokens)?,
            cost: from_column("model_budgets.cost", self.cost)?,
        };
        Ok((state, self.now.to_jiff()))
    }
}

#[boxed_futures]
impl Store {
    /// Returns what counts toward the limits of an organization today and this month.
    pub async fn model_usage(&self, organization: OrganizationId) -> Result<BudgetState, StoreError> {
        let row = sqlx::query_as!(
            Row,
            r#"select day, requests, month, tokens, cost, clock_timestamp() as "now!"
               from model_budgets where organization_id = $1"#,
            organization.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        if let Some(row) = row {
            let (state, now) = row.state()?;
            return Ok(state.at(now));
        }
        let now =
            sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#).fetch_one(&self.pool()).await?;
        Ok(BudgetState::new(now.to_jiff()))
    }
}

#[boxed_futures]
impl OrgTransaction {
    /// Returns what counts toward the limits, and the time, without a lock.
    pub async fn model_usage_now(&mut self) -> Result<(BudgetState, Timestamp), StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            r#"select day, requests, month, tokens, cost, clock_timestamp() as "now!"
               from model_budgets where organization_id = $1"#,
            organization,
        )
        .fetch_optional(self.connection())
        .await?;
        if let Some(row) = row {
            return row.state();
        }
        let now =
            sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#).fetch_one(self.connection()).await?;
        Ok((BudgetState::new(now.to_jiff()), now.to_jiff()))
    }

    /// Locks the budget. Returns its state, and the time after the lock was taken.
    pub(super) async fn lock_model_budget(&mut self) -> Result<(BudgetState, Timestamp), StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            r#"insert into model_budgets (organization_id, day, month)
               values ($1, (clock_timestamp() at time zone 'UTC')::date,
                       date_trunc('month', clock_timestamp() at time zone 'UTC')::date)
               on conflict (organization_id) do update set organization_id = excluded.organization_id
               returning day, requests, month, tokens, cost, clock_timestamp() as "now!""#,
            organization,
        )
        .fetch_one(self.connection())
        .await?;
        row.state()
    }

    /// Writes the state of the budget, which this transaction has locked.
    pub(super) async fn write_model_budget(&mut self, state: BudgetState) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update model_budgets set day = $2, requests = $3, month = $4, tokens = $5, cost = $6
             where organization_id = $1",
            organization,
            jiff_sqlx::Date::from(state.day) as jiff_sqlx::Date,
            to_column::<_, i64>("model_budgets.requests", state.requests)?,
            jiff_sqlx::Date::from(state.month) as jiff_sqlx::Date,
            to_column::<_, i64>("model_budgets.tokens", state.tokens)?,
            to_column::<_, i64>("model_budgets.cost", state.cost)?,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
