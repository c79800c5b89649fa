//! `greenroomd`: one program for all of Greenroom's daemons and operators' commands.

use std::io::Write;

use clap::{Parser, Subcommand};
use greenroom_server::config::{
    DatabaseConfig, JobConfig, ListenConfig, LogConfig, OperatorConfig, RetentionConfig, SecretsConfig,
    TemporalConfig, WorkConfig,
};
use greenroom_server::limits::LimitSettings;
use greenroom_server::{admin, daemon, http, telemetry};

/// A request allocates and frees many small objects: the system's allocator took a quarter of the server's
/// CPU time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Debug, Parser)]
#[command(name = "greenroomd", version, about = "Greenroom: continuous delivery with claimable environments")]
struct Arguments {
    #[command(flatten)]
    log: LogConfig,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the API and the pages.
    Serve {
        #[command(flatten)]
        database: DatabaseConfig,
        #[command(flatten)]
        temporal: TemporalConfig,
        #[command(flatten)]
        jobs: JobConfig,
        #[command(flatten)]
        secrets: SecretsConfig,
        #[command(flatten)]
        listen: ListenConfig,
        #[command(flatten)]
        limits: Box<LimitSettings>,
        #[command(flatten)]
        operator: OperatorConfig,
    },
    /// Run background work: deployments, event sequencing, expiry, cleanup.
    Worker {
        #[command(flatten)]
        database: DatabaseConfig,
        #[command(flatten)]
        temporal: TemporalConfig,
        #[command(flatten)]
        work: WorkConfig,
        #[command(flatten)]
        secrets: SecretsConfig,
        #[command(flatten)]
        operator: OperatorConfig,
        #[command(flatten)]
        retention: RetentionConfig,
    },
    /// Change the database's schema.
    Migrate {
        #[command(flatten)]
        database: DatabaseConfig,
        #[command(subcommand)]
        command: admin::MigrateCommand,
    },
    /// Operators' commands on the database.
    Admin {
        #[command(flatten)]
        database: DatabaseConfig,
        #[command(flatten)]
        secrets: SecretsConfig,
        #[command(subcommand)]
        command: admin::AdminCommand,
    },
    /// Print the OpenAPI document.
    Openapi,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    telemetry::logs(&arguments.log.filter, arguments.log.format)?;
    match arguments.command {
        Command::Serve { database, temporal, jobs, secrets, listen, limits, operator } => {
            daemon::run_server(&database, &temporal, &jobs, &secrets, &listen, *limits, &operator).await
        }
        Command::Worker { database, temporal, work, secrets, operator, retention } => {
            daemon::run_worker(&database, &temporal, &work, &secrets, &operator, &retention).await
        }
        Command::Migrate { database, command } => admin::migrate(&database, &command).await,
        Command::Admin { database, secrets, command } => admin::admin(&database, &secrets, &command).await,
        Command::Openapi => {
            writeln!(std::io::stdout(), "{}", http::document().to_pretty_json()?)?;
            Ok(())
        }
    }
}
