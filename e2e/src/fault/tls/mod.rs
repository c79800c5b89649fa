//! `fault tls`: clients flood a server's TLS port while a member of an organization works. Every flood has to be refused, the server has
//! to stay up, and the member gets each response, nearly as fast as without a flood.

mod attack;
mod client;
mod member;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use crate::fault::tls::attack::{Attack, Attackers};
use crate::fault::tls::client::Client;
use crate::fault::tls::member::{Member, p95};
use crate::parts::daemon::Daemon;
use crate::parts::folder::Folder;
use crate::parts::interruption::Interruption;
use crate::parts::output::print_progress;
use crate::parts::ports;
use crate::parts::postgres::Postgres;
use crate::parts::programs::{Programs, admin, admin_json};
use crate::parts::tls::Certificate;

const WARM_UP: Duration = Duration::from_secs(2);
const WINDOW: Duration = Duration::from_secs(3);
/// Between two windows: connections of the former one end.
const PAUSE: Duration = Duration::from_millis(500);
/// How much slower the member's requests may be under attack.
const MAX_RATIO: f64 = 2.0;
/// A window with fewer requests proves nothing.
const MIN_REQUESTS: usize = 20;

#[derive(Clone, Debug, Args)]
pub(crate) struct Tls {
    /// How many pairs of a window without and a window with floods are compared.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=100))]
    pairs: u32,
    /// Make the ratio of latencies a violation too; for a release build on a machine with nothing else to do.
    #[arg(long)]
    gate_latency: bool,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    json: bool,
    /// Keep the folder with logs and data in .stack.
    #[arg(long)]
    keep: bool,
    /// Folder of greenroomd, greenroom-runner and greenroom-entry; this program's own if omitted.
    #[arg(long)]
    bin_dir: Option<PathBuf>,
    /// Path of the entrypoint, if it is elsewhere.
    #[arg(long)]
    entry: Option<PathBuf>,
}

/// The latencies of the member's requests, and what failed.
#[derive(Default)]
struct Measured {
    quiet: Vec<Duration>,
    attacked: Vec<Duration>,
    smallest_window: Option<usize>,
    failures: Vec<String>,
}

pub(crate) async fn run(options: Tls) -> anyhow::Result<ExitCode> {
    let programs = Programs::find(options.bin_dir.as_deref(), None, options.entry.as_deref())?;
    let folder = Folder::make("fault-tls", options.keep)?;
    let mut postgres = Postgres::make(&folder.path.join("postgres")).await?;
    let outcome = Interruption::listen()?.or(campaign(&options, &programs, &folder, &postgres)).await;
    postgres.stop().await?;
    let (report, is_good, is_void) = outcome?;
    let text = if options.json { report.to_string() } else { format!("{report:#}") };
    writeln!(std::io::stdout(), "{text}")?;
    Ok(match (is_good, is_void) {
        (true, false) => ExitCode::SUCCESS,
        (true, true) => ExitCode::from(3),
        (false, _) => ExitCode::FAILURE,
    })
}

/// Returns the report, whether nothing was violated, and whether it proves nothing.
async fn campaign(
    options: &Tls,
    programs: &Programs,
    folder: &Folder,
    postgres: &Postgres,
) -> anyhow::Result<(Value, bool, bool)> {
    admin(&programs.daemon, &postgres.url(), &["migrate", "up"]).await?;
    let arguments =
        ["admin", "bootstrap", "--slug", "acme", "--owner-email", "owner@acme.test", "--owner-name", "O"];
    let made = admin_json(&programs.daemon, &postgres.url(), &arguments).await?;
    let token = made["token"].as_str().context("an organization without a token")?;
    let certificate = Certificate::make_leaf(&folder.path).await?;
    let address = format!("127.0.0.1:{}", ports::free()?);
    let variables = vec![
        ("GREENROOM_DATABASE_URL", postgres.url()),
        ("GREENROOM_LISTEN", address.clone()),
        ("GREENROOM_TLS_CERT", certificate.file.display().to_string()),
        ("GREENROOM_TLS_KEY", folder.path.join("key.pem").display().to_string()),
        ("GREENROOM_OBJECTS", format!("file://{}", folder.path.join("objects").display())),
    ];
    let log = folder.path.join("logs").join("server.log");
    let mut server = Daemon::new("serve", programs.daemon.clone(), log, variables)?;
    server.start()?;
    server.ready().await?;
    let member = Member::new(&address, &certificate.file, token)?;
    let client = Arc::new(Client::new(address.parse()?, &certificate.file)?);
    let mut attackers = Attackers::new(client);
    let mut measured = Measured::default();

    member.work(WARM_UP).await;
    for pair in 0..options.pairs {
        print_progress(&format!("pair {} of {}", pair + 1, options.pairs));
        for is_attacked in [false, true] {
            if is_attacked {
                attackers.start();
            }
            let window = member.work(WINDOW).await;
            attackers.stop().await;
            let smallest = measured.smallest_window.unwrap_or(usize::MAX);
            measured.smallest_window = Some(smallest.min(window.took.len()));
            let times = if is_attacked { &mut measured.attacked } else { &mut measured.quiet };
            times.extend(window.took);
            measured.failures.extend(window.failures);
            tokio::time::sleep(PAUSE).await;
        }
    }
    if server.has_died() {
        measured.failures.push(format!("the server has ended:\n{}", server.recent_errors()));
    }
    server.end().await?;
    Ok(report(options, &measured, &attackers))
}

fn report(options: &Tls, measured: &Measured, attackers: &Attackers) -> (Value, bool, bool) {
    let (quiet, attacked) = (p95(&measured.quiet), p95(&measured.attacked));
    let ratio = attacked.as_secs_f64() / quiet.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut violations = measured.failures.clone();
    let mut is_void = measured.smallest_window.is_none_or(|requests| requests < MIN_REQUESTS);
    let mut floods = serde_json::Map::new();
    for attack in Attack::ALL {
        let count = attackers.count(attack);
        floods.insert(attack.name().to_owned(), json!({ "sent": count.sent, "refused": count.refused }));
        is_void |= count.sent == 0;
        if count.refused < count.sent {
            violations.push(format!(
                "{} of {} {} were not refused",
                count.sent - count.refused,
                count.sent,
                attack.name()
            ));
        }
    }
    if options.gate_latency && ratio > MAX_RATIO {
        violations.push(format!("p95 is {ratio:.1} times that without floods"));
    }
    let milliseconds = |time: Duration| (time.as_secs_f64() * 1e4).round() / 10.0;
    let report = json!({
        "requests": measured.quiet.len() + measured.attacked.len(),
        "p95QuietMs": milliseconds(quiet),
        "p95AttackedMs": milliseconds(attacked),
        "p95Ratio": (ratio * 100.0).round() / 100.0,
        "maxRatio": MAX_RATIO,
        "floods": floods,
        "violations": violations.len(),
        "findings": violations.iter().take(5).collect::<Vec<_>>(),
        "void": is_void,
    });
    (report, violations.is_empty(), is_void)
}
