//! `bench api`: the combined cost of authentication, envelope, ids, limits, metrics and logging.

use std::io::Write;

use clap::Args;
use serde_json::json;

use crate::bench::load::{Load, throughput};
use crate::bench::{median, print_progress};
use crate::stack::{Process, Stack};

#[derive(Debug, Args)]
pub(crate) struct BenchApi {
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    json: bool,
    /// Duration of each run.
    #[arg(long, default_value_t = 8)]
    seconds: u32,
    #[arg(long, default_value_t = 5)]
    runs: usize,
    #[arg(long, default_value_t = 32)]
    connections: u32,
    /// Number of pipelines of the organization.
    #[arg(long, default_value_t = 1_000)]
    pipelines: i32,
}

pub(crate) async fn run(arguments: BenchApi) -> anyhow::Result<()> {
    print_progress("starting PostgreSQL and both servers");
    let stack = Stack::start("bench-api").await?;
    let organization = stack.organization("bench", arguments.pipelines).await?;
    let (server, bare) = (stack.server().await?, stack.bare_api(organization.uuid).await?);
    let url = format!("{}/api/v1/organizations/{}/pipelines", server.address, organization.id);
    let load =
        |url, seconds| Load { url, token: &organization.token, connections: arguments.connections, seconds };
    for warm_up in [url.as_str(), bare.address.as_str()] {
        throughput(&load(warm_up, 3)).await?;
    }
    let (mut ratios, mut ours, mut bares) = (Vec::new(), Vec::new(), Vec::new());
    for number in 1..=arguments.runs {
        let own = throughput(&load(&url, arguments.seconds)).await?;
        let bare_rate = throughput(&load(&bare.address, arguments.seconds)).await?;
        print_progress(&format!(
            "run {number}: {own:.0} requests/s, bare {bare_rate:.0}, ratio {:.3}",
            own / bare_rate
        ));
        ratios.push(own / bare_rate);
        ours.push(own);
        bares.push(bare_rate);
    }
    end([server, bare]).await;
    stack.end().await?;
    let ratio = median(ratios.clone());
    let mut out = std::io::stdout();
    if arguments.json {
        let result = json!({
            "authOverheadRatio": ratio,
            "ratios": ratios,
            "requestsPerSecond": median(ours),
            "bareRequestsPerSecond": median(bares),
            "connections": arguments.connections,
            "pipelines": arguments.pipelines,
        });
        writeln!(out, "{result}")?;
    } else {
        writeln!(out, "authOverheadRatio {ratio:.3} (median of {})", arguments.runs)?;
    }
    Ok(())
}

async fn end(processes: [Process; 2]) {
    for process in processes {
        process.end().await;
    }
}
