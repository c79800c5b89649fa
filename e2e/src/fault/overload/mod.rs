//! `fault overload`: a hostile organization attacks with everything that it may send while another one works.
//! The other one must not be affected, and a control without limits must show that it would be.

mod alternation;
mod attack;
mod attacker;
mod attacker_process;
mod compared;
mod hostile;
mod judge;
mod measured;
mod member;
mod options;
mod pair;
mod phase;
mod prepare;
mod report;
mod sample;
mod scale;
mod server_use;
mod shape;
mod stack;
mod victim;
mod window;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::fault::campaign_report::CampaignReport;
use crate::fault::clock::Clock;
use crate::fault::overload::attack::{Attack, Unit};
pub(crate) use crate::fault::overload::attacker::{Attacker, run as run_attacker};
use crate::fault::overload::hostile::HostileTenant;
use crate::fault::overload::judge::{Control, Observed};
pub(crate) use crate::fault::overload::options::Overload;
use crate::fault::overload::options::Scale;
use crate::fault::overload::phase::PhaseContext;
use crate::fault::overload::report::{Report, Run};
use crate::fault::overload::stack::{Limits, Stack};
use crate::fault::overload::victim::Victim;
use crate::fault::overload::victim::recorder::Recorder;
use crate::fault::overload::victim::relay::Relay;
use crate::fault::overload::window::Counts;
use crate::parts::interruption::Interruption;
use crate::parts::output::print_progress;
use crate::parts::stalls::StallDetector;

/// Open files of a program in addition to the attack's connections.
const OTHER_FILES: usize = 1_000;
/// The victim's first claims and connections without limits.
const CONTROL_WARM_UP: Duration = Duration::from_secs(2);
/// How long the control attacks at most, unless it needs less to show harm.
const CONTROL_TIME: Duration = Duration::from_secs(10);

pub(crate) async fn run(options: Overload) -> anyhow::Result<ExitCode> {
    let connections: usize = Attack::ALL
        .iter()
        .filter(|attack| attack.unit() == Unit::Connections)
        .map(|attack| attack.size(options.scale))
        .sum();
    prepare::raise_open_files(connections + OTHER_FILES).await?;
    let seed = options.seed.unwrap_or_else(|| rand::random_range(0..1_000_000));
    print_progress(&format!("starting PostgreSQL, Temporal, a server, a worker and a runner (seed {seed})"));
    let mut stack = Box::pin(Stack::start(&options)).await?;
    let report = Interruption::listen()?.or(Box::pin(campaign(&mut stack, &options, seed))).await;
    if options.keep {
        print_progress(&format!("kept: {}", stack.folder.path.display()));
    }
    stack.end().await?;
    report?.finish(options.json)
}

async fn campaign(stack: &mut Stack, options: &Overload, seed: u64) -> anyhow::Result<Report> {
    let (clock, started) = (Clock::start(), Instant::now());
    let recorder = Arc::new(Recorder::default());
    let (mut victim, runner, member) = Victim::make(stack, Arc::clone(&recorder)).await?;
    let relay = Relay::start(&stack.address().to_string(), Arc::clone(&recorder)).await?;
    stack.start_runner(&runner, &relay.url)?;
    let mut context = PhaseContext {
        recorder,
        hostile: HostileTenant::make(stack, options.scale).await?,
        member,
        gzip_bomb: prepare::make_gzip_bomb(&stack.folder.path).await?,
        scale: options.scale,
        stalls: StallDetector::start()?,
        rng: StdRng::seed_from_u64(seed),
        quiet: Vec::new(),
        attackers: 0,
    };

    victim.start();
    let (from, to) = context.warm_up().await;
    let mut measured = Vec::new();
    for attacks in options.phases() {
        measured.push(context.run(stack, &attacks, options.window(&attacks)).await?);
    }
    // Losses are known only when everything that was started has ended.
    victim.end().await?;
    let (record, failures, stalls) = (context.recorder.copy(), stack.failures(), context.stalls.stalls());
    let mut observed = Observed {
        before: Counts::between(&record, from, to),
        phases: measured.iter().map(|measured| measured.phase(&record, &stalls)).collect(),
        control: None,
        member_tokens: context.member.tokens.len(),
        failures,
        longest_stall: stalls.longest(),
        gates_latency: options.gate_latency,
    };
    observed.control = Some(control(stack, &mut victim, &mut context, options).await?);
    let run = Run {
        scale: options.scale,
        seed,
        without_limits: options.without_limits,
        took: started.elapsed(),
        clock_step: clock.step(),
        stalls: stalls.figures(),
    };
    Ok(Report::new(run, &observed, record.complaints))
}

/// Runs all attacks together against a server whose limits are off.
async fn control(
    stack: &mut Stack,
    victim: &mut Victim,
    context: &mut PhaseContext,
    options: &Overload,
) -> anyhow::Result<Control> {
    print_progress("control: all attacks without limits");
    stack.start_server(Limits::Off).await?;
    victim.start();
    tokio::time::sleep(CONTROL_WARM_UP).await;
    // `small` attacks until harm is observed; `full` attacks long enough to show its extent.
    let is_enough = |context: &PhaseContext, began: Instant| {
        let counts = Counts::between(&context.recorder.copy(), began, Instant::now());
        options.scale == Scale::Small && counts.harm().iter().any(|(_, count)| *count > 0)
    };
    let lasting = options.together().max(CONTROL_TIME * 2) / 2;
    let (began, ended) = context.attack_until(stack, &Attack::ALL, lasting, is_enough).await?;
    let record = context.recorder.copy();
    victim.abort().await;
    Ok(Control { counts: Counts::between(&record, began, ended) })
}
