//! The reference: the same effect in bare SQL, frozen in `e2e/bench/reference.sql`, run by pgbench.

use anyhow::{Context, bail};
use sqlx::{AssertSqlSafe, Executor, PgConnection};
use tokio::process::Command;

use super::fixture::PIPELINE;
use super::load::Load;
use crate::stack::{Organization, Stack};

const SCHEMA: &str = include_str!("../../../bench/reference_schema.sql");
const SCRIPT: &str = "e2e/bench/reference.sql";

pub(crate) struct Reference {
    variables: Vec<String>,
}

impl Reference {
    /// Creates the tables, with the environments that the product has.
    pub(crate) async fn make(
        connection: &mut PgConnection,
        organization: &Organization,
    ) -> anyhow::Result<Self> {
        connection.execute(SCHEMA).await?;
        sqlx::query(
            "insert into reference.environments (organization_id, pipeline_id, id, name)
             select organization_id, pipeline_id, id, name from environments where organization_id = $1",
        )
        .bind(organization.uuid)
        .execute(&mut *connection)
        .await?;
        let (pipeline, user, name): (uuid::Uuid, uuid::Uuid, String) = sqlx::query_as(
            "select p.id, m.user_id, m.name from pipelines p join memberships m using (organization_id)
             where p.organization_id = $1 and p.slug = $2",
        )
        .bind(organization.uuid)
        .bind(PIPELINE)
        .fetch_one(connection)
        .await?;
        let variables = vec![
            format!("organization={}", organization.uuid),
            format!("pipeline={pipeline}"),
            format!("user={user}"),
            format!("user_name={name}"),
        ];
        Ok(Self { variables })
    }

    pub(crate) async fn run(&self, stack: &Stack, connections: u32, seconds: u32) -> anyhow::Result<Load> {
        let mut command = Command::new(stack.program("pgbench"));
        command.args(["--no-vacuum", "--protocol", "prepared", "--jobs", "2", "--file", SCRIPT]);
        command.args(["--client", &connections.to_string(), "--time", &seconds.to_string()]);
        for variable in &self.variables {
            command.args(["--define", variable]);
        }
        let output = command.arg(&stack.database_url).output().await.context("pgbench is needed")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let number = |label: &str| {
            let line = text.lines().find_map(|line| line.trim().strip_prefix(label));
            let word = line.and_then(|line| line.split_whitespace().next());
            word.and_then(|word| word.parse::<f64>().ok())
        };
        let (pairs, failed) =
            (number("number of transactions actually processed:"), number("number of failed transactions:"));
        match (pairs, number("tps ="), failed) {
            (Some(pairs), Some(rate), Some(0.0)) if output.status.success() => {
                Ok(Load { pairs: pairs as u64, seconds: pairs / rate })
            }
            _ => bail!("the run is void:\n{text}{}", String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// Updates the planner's statistics for both sides, and writes out what the last run left in memory, so
    /// that no run pays for the one before it.
    pub(crate) async fn vacuum(connection: &mut PgConnection) -> anyhow::Result<()> {
        for statement in ["vacuum analyze", "checkpoint"] {
            connection.execute(AssertSqlSafe(statement.to_owned())).await?;
        }
        Ok(())
    }
}
