//! The phases of a campaign: pairs of a quiet window and one under attack, with the recovery after each attack.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use rand::rngs::StdRng;

use crate::fault::overload::alternation::{Side, sides};
use crate::fault::overload::attack::Attack;
use crate::fault::overload::attacker_process::AttackerProcess;
use crate::fault::overload::hostile::HostileTenant;
use crate::fault::overload::judge::MAX_P95_RATIO;
use crate::fault::overload::measured::{AttackPeriod, Measured, MeasuredWindow};
use crate::fault::overload::options::Scale;
use crate::fault::overload::sample::{Member, Plan};
use crate::fault::overload::server_use::ServerSnapshot;
use crate::fault::overload::stack::Stack;
use crate::fault::overload::victim::recorder::Recorder;
use crate::fault::overload::window::{p95_of_quiet_reads, recovery};
use crate::parts::machine::Memory;
use crate::parts::output::print_progress;
use crate::parts::stalls::StallDetector;

/// The victim's first claims, connections and caches. No window begins before.
const WARM_UP: Duration = Duration::from_secs(4);
/// The length of the last part of the warm-up. Recoveries are compared with the victim's reads without an attack, and those
/// in this part are the first of them.
const QUIET_WARM_UP: Duration = Duration::from_secs(2);
/// The least time between an attack and a quiet window. The victim has to have recovered as well: in 22 phases of two
/// campaigns that took 0.45 s at most.
const SETTLE_TIME: Duration = Duration::from_secs(1);
/// How long the campaign waits for the victim to recover.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// What all phases share.
pub(super) struct PhaseContext {
    pub(super) recorder: Arc<Recorder>,
    pub(super) hostile: HostileTenant,
    pub(super) member: Member,
    pub(super) gzip_bomb: PathBuf,
    pub(super) scale: Scale,
    pub(super) stalls: StallDetector,
    pub(super) rng: StdRng,
    /// The quiet windows so far.
    pub(super) quiet: Vec<(Instant, Instant)>,
    /// How many attackers were started.
    pub(super) attackers: usize,
}

/// An attack that is switched on.
struct RunningAttack {
    attacker: AttackerProcess,
    began: Instant,
    at_size: Instant,
}

impl PhaseContext {
    /// Waits while the victim begins its work. Returns that time.
    pub(super) async fn warm_up(&mut self) -> (Instant, Instant) {
        let from = Instant::now();
        tokio::time::sleep(WARM_UP).await;
        let to = Instant::now();
        self.quiet = vec![(to.checked_sub(QUIET_WARM_UP).unwrap_or(from), to)];
        (from, to)
    }

    /// Measures the pairs of windows of one phase, and waits until the victim has recovered.
    pub(super) async fn run(
        &mut self,
        stack: &Stack,
        attacks: &[Attack],
        lasting: Duration,
    ) -> anyhow::Result<Measured> {
        let mut measured = Measured::new(attacks, self.scale);
        print_progress(&format!("{}: pairs of windows of {lasting:?}", measured.name));
        let server = stack.server.pid()?;
        Memory::reset_peak(server);
        let mut running = None;
        for (pair, sides) in sides(&mut self.rng).into_iter().enumerate() {
            for side in sides {
                match side {
                    Side::Attack if running.is_none() => {
                        running = Some(self.switch_on(stack, &measured).await?)
                    }
                    Side::Quiet => self.switch_off(&mut running, &mut measured).await?,
                    Side::Attack => {}
                }
                let window = self.measure(stack, (pair, side), lasting, &mut running).await?;
                if side == Side::Quiet {
                    self.quiet.push((window.from, window.to));
                }
                measured.windows.push(window);
            }
        }
        self.switch_off(&mut running, &mut measured).await?;
        measured.watched_until = Instant::now();
        measured.max_rss_mib = Memory::of(server)?.peak_mib;
        Ok(measured)
    }

    /// Attacks for the given time, or until the condition is met. Returns when the attack began and ended.
    pub(super) async fn attack_until(
        &mut self,
        stack: &Stack,
        attacks: &[Attack],
        lasting: Duration,
        is_enough: impl Fn(&Self, Instant) -> bool,
    ) -> anyhow::Result<(Instant, Instant)> {
        let RunningAttack { mut attacker, began, at_size } =
            self.switch_on(stack, &Measured::new(attacks, self.scale)).await?;
        while at_size.elapsed() < lasting && !is_enough(self, began) {
            wait_in_attack(&mut attacker, POLL_INTERVAL).await?;
        }
        let ended = Instant::now();
        attacker.end().await?;
        Ok((began, ended))
    }

    async fn measure(
        &self,
        stack: &Stack,
        (pair, side): (usize, Side),
        lasting: Duration,
        running: &mut Option<RunningAttack>,
    ) -> anyhow::Result<MeasuredWindow> {
        let before = ServerSnapshot::of(&stack.server).await?;
        let from = Instant::now();
        while let Some(left) = lasting.checked_sub(from.elapsed()) {
            match running {
                Some(attack) => wait_in_attack(&mut attack.attacker, left.min(POLL_INTERVAL)).await?,
                None => tokio::time::sleep(left).await,
            }
        }
        let to = Instant::now();
        let server = ServerSnapshot::of(&stack.server).await?.since(&before);
        Ok(MeasuredWindow { pair, side, from, to, server })
    }

    /// Starts an attacker and waits until the attack has reached its size.
    async fn switch_on(&mut self, stack: &Stack, measured: &Measured) -> anyhow::Result<RunningAttack> {
        self.hostile.ensure_step().await?;
        self.attackers += 1;
        let (folder, name) = (&stack.folder.path, format!("{}-{}", self.attackers, measured.name));
        let ramp_up = Attack::ramp_up_time(self.scale);
        let plan = Plan {
            address: stack.address().to_string(),
            sizes: measured.attacks.iter().map(|attack| (*attack, attack.size(self.scale))).collect(),
            ramp_up_millis: u64::try_from(ramp_up.as_millis())?,
            hostile: self.hostile.facts.clone(),
            member: self.member.clone(),
            gzip_bomb: self.gzip_bomb.clone(),
            samples: folder.join(format!("samples-{name}.json")),
        };
        let began = Instant::now();
        let attacker = AttackerProcess::start(&plan, folder, &name).await?;
        Ok(RunningAttack { attacker, began, at_size: Instant::now() })
    }

    /// Ends the attacker, if there is one, and waits until nothing of its attack is left.
    async fn switch_off(
        &self,
        running: &mut Option<RunningAttack>,
        measured: &mut Measured,
    ) -> anyhow::Result<()> {
        let Some(RunningAttack { attacker, at_size, .. }) = running.take() else { return Ok(()) };
        let ended = Instant::now();
        let samples = attacker.end().await?;
        measured.periods.push(AttackPeriod { at_size, ended, samples });
        let settling = Instant::now();
        let bound = p95_of_quiet_reads(&self.recorder.copy().calls, &self.stalls.stalls(), &self.quiet);
        let bound = bound.unwrap_or_default().mul_f64(MAX_P95_RATIO);
        let mut recovered = None;
        while settling.elapsed() < SETTLE_TIME
            || (recovered.is_none() && settling.elapsed() < RECOVERY_TIMEOUT)
        {
            tokio::time::sleep(POLL_INTERVAL).await;
            let calls = self.recorder.copy().calls;
            recovered = recovered.or_else(|| recovery(&calls, &self.stalls.stalls(), settling, bound));
        }
        measured.recoveries.push(recovered);
        measured.settled += settling.elapsed();
        Ok(())
    }
}

/// Waits, unless the attacker has ended.
async fn wait_in_attack(attacker: &mut AttackerProcess, time: Duration) -> anyhow::Result<()> {
    if !attacker.is_running() {
        bail!("the attacker has ended; see its log in logs/ with --keep");
    }
    tokio::time::sleep(time).await;
    Ok(())
}
