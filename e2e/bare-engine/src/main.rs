//! The baseline of `bench deployments`: three steps one after the other, each an activity that does nothing,
//! on bare Temporal. No rights, no locks, no application database, no HTTP, no logs, no events. It starts a
//! number of these workflows together, and prints how long it took until the last one was done.

mod connect;
mod steps;
mod wave;
mod workers;
mod workflow;

use std::io::Write;

use clap::Parser;
use serde_json::json;

use crate::connect::connect;
use crate::wave::Wave;
use crate::workers::Workers;

#[derive(Debug, Parser)]
#[command(name = "greenroom-bare-engine", about = "The same steps on bare Temporal")]
struct Arguments {
    /// Temporal's frontend: host:port.
    #[arg(long)]
    address: String,
    /// Number of workflows that are started together.
    #[arg(long)]
    count: usize,
    /// Number of clients.
    #[arg(long)]
    clients: usize,
    /// Number of warm-up workflows.
    #[arg(long, default_value_t = 20)]
    warm_up: usize,
    /// Number of pollers for each kind of task.
    #[arg(long, default_value_t = 8)]
    pollers: usize,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut workers = Workers::start(&arguments.address, arguments.pollers).await?;
    let client = connect(&arguments.address).await?;
    let wave = |name, count| Wave { client: &client, name, count, clients: arguments.clients };
    let measured = async {
        wave("warm-up", arguments.warm_up).run().await?;
        wave("measured", arguments.count).run().await
    };
    let seconds = tokio::select! {
        seconds = measured => seconds?,
        error = workers.failed() => return Err(error),
    };
    wave("measured", arguments.count).check().await?;
    workers.end().await?;
    writeln!(std::io::stdout(), "{}", json!({ "count": arguments.count, "seconds": seconds }))?;
    Ok(())
}
