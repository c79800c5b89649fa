//! `fault overload`: a hostile organization attacks with everything that it may send while another one works.
//! The other one must not be affected, and a control without limits must show that it would be.

mod attack;
mod attacker;
mod attacker_process;
mod hostile;
mod judge;
mod options;
mod phase;
mod prepare;
mod report;
mod sample;
mod scale;
mod shape;
mod stack;
mod victim;
mod window;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use crate::fault::campaign_report::CampaignReport;
use crate::fault::clock::Clock;
use crate::fault::overload::attack::{Attack, Unit};
pub(crate) use crate::fault::overload::attacker::{Attacker, run as run_attacker};
use crate::fault::overload::hostile::HostileTenant;
use crate::fault::overload::judge::{Control, Observed};
pub(crate) use crate::fault::overload::options::Overload;
use crate::fault::overload::options::Scale;
use crate::fault::overload::phase::{Measured, PhaseContext};
use crate::fault::overload::report::Report;
use crate::fault::overload::stack::{Limits, Stack};
use crate::fault::overload::victim::Victim;
use crate::fault::overload::victim::recorder::Recorder;
use crate::fault::overload::victim::relay::Relay;
use crate::fault::overload::window::{Counts, p95_of_reads};
use crate::parts::interruption::Interruption;
use crate::parts::output::print_progress;

/// Open files of a program in addition to the attack's connections.
const OTHER_FILES: usize = 1_000;

pub(crate) async fn run(options: Overload) -> anyhow::Result<ExitCode> {
    let connections: usize = Attack::ALL
        .iter()
        .filter(|attack| attack.unit() == Unit::Connections)
        .map(|attack| attack.size(options.scale))
        .sum();
    prepare::raise_open_files(connections + OTHER_FILES).await?;
    print_progress("starting PostgreSQL, Temporal, a server, a worker and a runner");
    let mut stack = Box::pin(Stack::start(&options)).await?;
    let report = Interruption::listen()?.or(Box::pin(campaign(&mut stack, &options))).await;
    if options.keep {
        print_progress(&format!("kept: {}", stack.folder.path.display()));
    }
    stack.end().await?;
    report?.finish(options.json)
}

async fn campaign(stack: &mut Stack, options: &Overload) -> anyhow::Result<Report> {
    let (clock, started) = (Clock::start(), Instant::now());
    let recorder = Arc::new(Recorder::default());
    let (mut victim, runner) = Victim::make(stack, Arc::clone(&recorder)).await?;
    let relay = Relay::start(&stack.address().to_string(), Arc::clone(&recorder)).await?;
    stack.start_runner(&runner, &relay.url)?;
    let hostile = HostileTenant::make(stack, options.scale).await?;
    let gzip_bomb = prepare::make_gzip_bomb(&stack.folder.path).await?;
    let mut context = PhaseContext { recorder, hostile, gzip_bomb, scale: options.scale };

    victim.start();
    print_progress("measuring the victim without an attack");
    let (from, to) = context.quiet(options.quiet()).await;
    let quiet_p95 = p95_of_reads(&context.recorder.copy().calls, from, to);
    let mut measured = Vec::new();
    for attacks in options.phases() {
        let lasting = if attacks.len() > 1 { options.together() } else { options.alone() };
        measured.push(context.attack(stack, &attacks, lasting, quiet_p95).await?);
    }
    // Losses are known only when everything that was started has ended.
    victim.end().await?;
    let (record, failures) = (context.recorder.copy(), stack.failures());
    let mut observed = Observed {
        quiet: Counts::between(&record, from, to),
        quiet_p95,
        phases: measured.iter().map(|measured| measured.phase(&record)).collect(),
        control: None,
        failures,
    };
    observed.control = Some(control(stack, &mut victim, &mut context, options).await?);
    Ok(Report::new(options.scale, (started.elapsed(), clock.step()), &observed, record.complaints))
}

/// Runs all attacks together against a server whose limits are off.
async fn control(
    stack: &mut Stack,
    victim: &mut Victim,
    context: &mut PhaseContext,
    options: &Overload,
) -> anyhow::Result<Control> {
    print_progress("control: the same without limits");
    stack.start_server(Limits::Off).await?;
    victim.start();
    let (from, to) = context.quiet(options.quiet() / 2).await;
    let quiet_p95 = p95_of_reads(&context.recorder.copy().calls, from, to);
    // `small` attacks until harm is observed; `full` attacks long enough to show its extent.
    let is_enough = |context: &PhaseContext, began: Instant| {
        let counts = Counts::between(&context.recorder.copy(), began, Instant::now());
        options.scale == Scale::Small && counts.harm().iter().any(|(_, count)| *count > 0)
    };
    let Measured { began, at_size, ended, .. } =
        context.attack_until(stack, &Attack::ALL, (options.together() / 2, "control"), is_enough).await?;
    let record = context.recorder.copy();
    victim.abort().await;
    Ok(Control {
        quiet_p95,
        counts: Counts::between(&record, began, ended),
        p95: p95_of_reads(&record.calls, at_size, ended),
    })
}
