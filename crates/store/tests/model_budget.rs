//! Calls of models are reserved within the budget of their organization, however many are made at the same moment.
#![expect(clippy::unwrap_used, reason = "a test may")]

use greenroom_domain::id::{AnalysisId, FailureId, ModelCallId, OrganizationId};
use greenroom_domain::model::budget::{Amount, Budget, Exhausted};
use greenroom_store::Store;
use greenroom_store::model::{ModelCallResult, NewModelCall, NotReserved};
use sqlx::PgPool;
use tokio::task::JoinSet;
use uuid::Uuid;

type TestResult = Result<(), Box<dyn std::error::Error>>;

const ANALYSIS: u128 = 7;
const CALL: Amount = Amount { requests: 1, tokens: 1_000, cost: 30 };

struct Fixture {
    store: Store,
    pool: PgPool,
}

impl Fixture {
    /// Two organizations, each with a failure and a model.
    async fn new(pool: PgPool) -> Result<Self, sqlx::Error> {
        // A failure without its deployment is enough here.
        sqlx::query("alter table failures drop constraint failures_organization_id_deployment_id_fkey")
            .execute(&pool)
            .await?;
        for number in [1_u128, 2] {
            let organization = Uuid::from_u128(number);
            sqlx::query("insert into organizations (id, slug, name) values ($1, $2, $2)")
                .bind(organization)
                .bind(format!("org-{number}"))
                .execute(&pool)
                .await?;
            sqlx::query(
                "insert into failures
                     (organization_id, id, pipeline_id, deployment_id, stage_key, attempt, place, commit_id,
                      definition_version, created_by, status, reason, failed_at)
                 values ($1, $1, $1, $1, 'deploy', 1, '', 'c', 1, $1, 'failed', 'step_failed', clock_timestamp())",
            )
            .bind(organization)
            .execute(&pool)
            .await?;
            sqlx::query(
                "insert into analysis_settings
                     (organization_id, enabled, protocol, address, model, input_price, output_price, revision)
                 values ($1, true, 'openai', 'https://models.example/v1', 'm', 3000000, 15000000, 4)",
            )
            .bind(organization)
            .execute(&pool)
            .await?;
        }
        Ok(Self { store: Store::new(pool.clone()), pool })
    }

    async fn set(&self, assignment: &str) -> Result<(), sqlx::Error> {
        let query = format!("update analysis_settings set {assignment}");
        sqlx::query(sqlx::AssertSqlSafe(query)).execute(&self.pool).await?;
        Ok(())
    }

    async fn reserve(&self, number: u128) -> Result<ModelCallId, NotReserved> {
        reserve(&self.store, number, 4).await
    }
}

fn organization(number: u128) -> OrganizationId {
    Uuid::from_u128(number).into()
}

async fn reserve(store: &Store, number: u128, revision: i64) -> Result<ModelCallId, NotReserved> {
    let new = NewModelCall {
        failure: FailureId::from(Uuid::from_u128(number)),
        analysis: AnalysisId::from(Uuid::from_u128(ANALYSIS)),
        settings_revision: revision,
        prompt: "all that is sent",
        prompt_hash: "abc",
        prompt_version: 1,
        upper_bound: CALL,
    };
    store.reserve_model_call(organization(number), &new).await.unwrap()
}

fn used(input_tokens: u64, output_tokens: u64) -> ModelCallResult<'static> {
    ModelCallResult { attempts: 1, input_tokens, output_tokens, ..ModelCallResult::default() }
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn concurrent_calls_never_exceed_a_limit(pool: PgPool) -> TestResult {
    let fixture = Fixture::new(pool).await?;
    for (assignment, which, reserved) in [
        ("max_requests_per_day = 7", Budget::Requests, 7),
        ("max_requests_per_day = null, max_tokens_per_month = 10999", Budget::Tokens, 10),
        ("max_tokens_per_month = null, max_cost_per_month = 419", Budget::Cost, 13),
    ] {
        sqlx::query("truncate model_budgets, model_calls").execute(&fixture.pool).await?;
        fixture.set(assignment).await?;
        let mut calls = JoinSet::new();
        for _ in 0..32 {
            let store = fixture.store.clone();
            calls.spawn(async move { reserve(&store, 1, 4).await });
        }
        let results = calls.join_all().await;
        let refused: Vec<&NotReserved> = results.iter().filter_map(|result| result.as_ref().err()).collect();
        assert_eq!(32 - refused.len(), reserved, "{assignment}");
        for error in refused {
            let NotReserved::Exhausted(Exhausted { which: found, resets_at: Some(_) }) = error else {
                panic!("{error:?}");
            };
            assert_eq!(*found, which);
        }
        let usage = fixture.store.model_usage(organization(1)).await?;
        let count = reserved as u64;
        assert_eq!((usage.requests, usage.tokens, usage.cost), (count, count * 1_000, count * 30));
        let rows: i64 =
            sqlx::query_scalar("select count(*) from model_calls").fetch_one(&fixture.pool).await?;
        assert_eq!(rows, reserved as i64);
        // Budgets are counted per organization.
        assert_eq!(fixture.store.model_usage(organization(2)).await?.requests, 0);
        assert!(fixture.reserve(2).await.is_ok());
    }
    Ok(())
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_call_is_settled_once(pool: PgPool) -> TestResult {
    let fixture = Fixture::new(pool).await?;
    let store = &fixture.store;
    let id = fixture.reserve(1).await?;
    // The prices of the reservation count, even if an admin changes them during the call.
    fixture.set("input_price = 0, output_price = 0").await?;
    let result = ModelCallResult { error: Some("the model refused"), ..used(100, 10) };
    assert!(!store.settle_model_call(organization(2), id, &result).await?, "another organization's call");
    let mut settling = JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        settling.spawn(async move { store.settle_model_call(organization(1), id, &used(100, 10)).await });
    }
    let settled = settling.join_all().await.into_iter().collect::<Result<Vec<bool>, _>>()?;
    assert_eq!(settled.iter().filter(|is_settled| **is_settled).count(), 1);
    let usage = store.model_usage(organization(1)).await?;
    assert_eq!((usage.requests, usage.tokens, usage.cost), (1, 110, 450));
    let calls = store.model_calls_of(organization(1), AnalysisId::from(Uuid::from_u128(ANALYSIS))).await?;
    assert_eq!(calls.len(), 1);
    assert_eq!(
        (calls[0].host.as_str(), calls[0].prompt.as_deref()),
        ("models.example", Some("all that is sent"))
    );
    assert_eq!(
        calls[0].settled.as_ref().map(|settled| (settled.input_tokens, settled.cost)),
        Some((100, 450))
    );
    let query = "select count(*), min(data->'after'->>'host') from event_intake where type = 'model.called'";
    let events: (i64, Option<String>) = sqlx::query_as(query).fetch_one(&fixture.pool).await?;
    assert_eq!(events, (1, Some("models.example".to_owned())));
    Ok(())
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_call_that_sent_nothing_counts_nothing(pool: PgPool) -> TestResult {
    let fixture = Fixture::new(pool).await?;
    let id = fixture.reserve(1).await?;
    assert!(fixture.store.settle_model_call(organization(1), id, &ModelCallResult::default()).await?);
    let usage = fixture.store.model_usage(organization(1)).await?;
    assert_eq!((usage.requests, usage.tokens, usage.cost), (0, 0, 0));
    Ok(())
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_new_day_and_a_new_month_start_empty(pool: PgPool) -> TestResult {
    let fixture = Fixture::new(pool).await?;
    fixture.set("max_requests_per_day = 1").await?;
    let late = fixture.reserve(1).await?;
    assert!(matches!(fixture.reserve(1).await, Err(NotReserved::Exhausted(_))));
    for table in [
        "model_budgets set day = day - 40, month = month - interval '2 months'",
        "model_calls set reserved_day = reserved_day - 40, reserved_month = reserved_month - interval '2 months'",
    ] {
        sqlx::query(sqlx::AssertSqlSafe(format!("update {table}"))).execute(&fixture.pool).await?;
    }
    assert_eq!(fixture.store.model_usage(organization(1)).await?.tokens, 0);
    fixture.reserve(1).await?;
    // What was reserved in the earlier month counts for that one.
    assert!(fixture.store.settle_model_call(organization(1), late, &used(900, 90)).await?);
    assert_eq!(fixture.store.model_usage(organization(1)).await?.tokens, 1_000);
    Ok(())
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn nothing_is_reserved_without_the_settings_that_the_call_uses(pool: PgPool) -> TestResult {
    let fixture = Fixture::new(pool).await?;
    assert_eq!(reserve(&fixture.store, 1, 3).await, Err(NotReserved::SettingsChanged));
    fixture.set("enabled = false").await?;
    assert_eq!(fixture.reserve(1).await, Err(NotReserved::Disabled));
    sqlx::query("delete from analysis_settings").execute(&fixture.pool).await?;
    assert_eq!(reserve(&fixture.store, 1, 0).await, Err(NotReserved::Disabled));
    assert_eq!(fixture.store.model_usage(organization(1)).await?.requests, 0);
    Ok(())
}
