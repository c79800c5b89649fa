//! `greenroomd`: one program for all of Greenroom's daemons and operators' commands.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use greenroom_server::config::{
    DatabaseConfig, LogConfig, OperatorConfig, RetentionConfig, SecretsConfig, ServeConfig, TemporalConfig,
    WorkConfig, WorkflowConfig,
};
use greenroom_server::{admin, daemon, http, telemetry};
use greenroom_traces::{Collector, TraceSettings};
use tokio::runtime::Runtime;

/// A request allocates and frees many small objects: the system's allocator took a quarter of the server's
/// CPU time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// With commit and date in a packaged build.
const VERSION: &str = match option_env!("GREENROOM_LONG_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

#[derive(Debug, Parser)]
#[command(name = "greenroomd", version = VERSION, about = "Greenroom: continuous delivery with claimable environments")]
struct Arguments {
    #[command(flatten)]
    log: LogConfig,
    #[command(flatten)]
    traces: TraceSettings,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the API and the pages.
    Serve(Box<ServeConfig>),
    /// Serve, and run background work, in one process: for small teams. `--database-connections` is divided between both.
    All {
        #[command(flatten)]
        server: Box<ServeConfig>,
        #[command(flatten)]
        workflows: WorkflowConfig,
        #[command(flatten)]
        retention: RetentionConfig,
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

impl Command {
    /// The name of the service in traces, which is that of its unit in systemd.
    const fn service(&self) -> &'static str {
        match self {
            Self::Serve(_) => "greenroom-serve",
            Self::Worker { .. } => "greenroom-worker",
            Self::All { .. } | Self::Migrate { .. } | Self::Admin { .. } | Self::Openapi => "greenroom",
        }
    }
}

/// What still runs on other threads at the end is waited for this long.
const THREADS_TIMEOUT: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = run_with_traces(arguments);
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    // Nothing can be done if standard error is closed.
    let _ = std::io::stderr().write_all(report(&error).as_bytes());
    ExitCode::FAILURE
}

fn run_with_traces(arguments: Arguments) -> anyhow::Result<()> {
    telemetry::logs(&arguments.log.filter, arguments.log.format)?;
    let collector = Collector::start(&arguments.traces, arguments.command.service(), VERSION)?;
    let runtime = Runtime::new()?;
    let outcome = runtime.block_on(run(arguments));
    runtime.shutdown_timeout(THREADS_TIMEOUT);
    if let Some(collector) = collector {
        collector.stop();
    }
    outcome
}

/// Returns an error and its causes, a line each. Without the backtrace that `anyhow` adds if `RUST_BACKTRACE` is set: most errors
/// are mistakes in an option.
fn report(error: &anyhow::Error) -> String {
    let mut text = format!("Error: {error}\n");
    for (number, cause) in error.chain().skip(1).enumerate() {
        if number == 0 {
            text.push_str("\nCaused by:\n");
        }
        let _ = writeln!(text, "    {cause}");
    }
    text
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::Serve(server) => daemon::run_server(&server).await,
        Command::All { server, workflows, retention } => {
            daemon::run_all(&server, workflows, &retention).await
        }
        Command::Worker { database, temporal, work, secrets, operator, retention } => {
            daemon::run_worker(&database, &temporal, &work, &secrets, &operator, &retention).await
        }
        Command::Migrate { database, command } => admin::migrate(&database, &command).await,
        Command::Admin { database, secrets, command } => admin::admin(&database, &secrets, &command).await,
        Command::Openapi => {
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&http::document())?)?;
            Ok(())
        }
    }
}
