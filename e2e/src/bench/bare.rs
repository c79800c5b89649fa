//! The baseline of the API benchmark: a bare handler that runs the same query, without authentication,
//! envelope, request ids, limits or logging.

use std::net::SocketAddr;

use axum::Json;
use axum::extract::State;
use axum::routing::get;
use clap::Args;
use serde_json::{Value, json};
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgPool, Row};
use uuid::Uuid;

#[derive(Debug, Args)]
pub(crate) struct BareApi {
    #[arg(long)]
    listen: SocketAddr,
    #[arg(long)]
    database_url: String,
    #[arg(long)]
    organization: Uuid,
}

/// The text of `Store::pipelines`. Change both together: a slower query on our side must not improve the
/// ratio.
const QUERY: &str = r#"select t.pipelines as total, p.id, p.slug, p.name, p.repository, p.status, p.stop_mode, p.stop_reason,
        p.stopped_at::text, p.stopped_by, p.definition_version, p.revision, p.created_at::text, p.updated_at::text
    from organization_totals t
    left join lateral (
        select * from pipelines
        where organization_id = t.organization_id and status <> 'archived' and t.pipelines > $3
        order by slug limit $2 offset $3
    ) p on true
    where t.organization_id = $1
    order by p.slug"#;

pub(crate) async fn serve(arguments: BareApi) -> anyhow::Result<()> {
    // The same number of connections as the server, and no ping before use, as there.
    let pool = PgPoolOptions::new().max_connections(16).test_before_acquire(false);
    let pool = pool.connect(&arguments.database_url).await?;
    let router = axum::Router::new().route("/", get(list)).with_state((pool, arguments.organization));
    let listener = tokio::net::TcpListener::bind(arguments.listen).await?;
    Ok(axum::serve(listener, router).await?)
}

async fn list(State((pool, organization)): State<(PgPool, Uuid)>) -> Json<Vec<Value>> {
    let rows = sqlx::query(QUERY).bind(organization).bind(20_i64).bind(0_i64).fetch_all(&pool).await;
    Json(rows.unwrap_or_default().iter().map(record).collect())
}

fn record(row: &sqlx::postgres::PgRow) -> Value {
    let text = |name: &str| row.try_get::<Option<String>, _>(name).unwrap_or_default();
    json!({
        "id": row.try_get::<Uuid, _>("id").map(|id| format!("pip_{id}")).unwrap_or_default(),
        "name": text("name"),
        "slug": text("slug"),
        "status": text("status"),
        "stop": text("stop_mode"),
        "repository": text("repository"),
        "definitionVersion": row.try_get::<i32, _>("definition_version").unwrap_or_default(),
        "createdAt": text("created_at"),
        "updatedAt": text("updated_at"),
        "lastDeployment": null,
    })
}
