//! The phases of a campaign: a quiet phase, and attacks with the recovery after each.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::fault::overload::attack::Attack;
use crate::fault::overload::attacker_process::AttackerProcess;
use crate::fault::overload::hostile::HostileTenant;
use crate::fault::overload::judge::{MAX_P95_RATIO, Phase};
use crate::fault::overload::options::Scale;
use crate::fault::overload::sample::{Plan, Sample};
use crate::fault::overload::shape::Shape;
use crate::fault::overload::stack::Stack;
use crate::fault::overload::victim::recorder::{Record, Recorder};
use crate::fault::overload::window::{Counts, p95_of_reads, recovery};
use crate::parts::machine::Memory;
use crate::parts::output::print_progress;

/// Not measured: the victim's first claims, connections and caches.
const WARM_UP: Duration = Duration::from_secs(4);

/// How long the campaign waits for the victim to recover.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// What all phases share.
pub(super) struct PhaseContext {
    pub(super) recorder: Arc<Recorder>,
    pub(super) hostile: HostileTenant,
    pub(super) gzip_bomb: PathBuf,
    pub(super) scale: Scale,
}

/// An attack with its times.
pub(super) struct Measured {
    name: String,
    attacks: Vec<Attack>,
    scale: Scale,
    pub(super) began: Instant,
    pub(super) at_size: Instant,
    pub(super) ended: Instant,
    /// When the campaign stopped observing.
    watched_until: Instant,
    recovery: Option<Duration>,
    samples: Vec<Sample>,
    max_rss_mib: f64,
}

impl PhaseContext {
    /// Waits while the victim works undisturbed. The measured time follows after a warm-up.
    pub(super) async fn quiet(&self, lasting: Duration) -> (Instant, Instant) {
        tokio::time::sleep(WARM_UP).await;
        let from = Instant::now();
        tokio::time::sleep(lasting).await;
        (from, Instant::now())
    }

    /// Attacks, and waits until the victim has recovered.
    pub(super) async fn attack(
        &mut self,
        stack: &Stack,
        attacks: &[Attack],
        lasting: Duration,
        quiet_p95: Option<Duration>,
    ) -> anyhow::Result<Measured> {
        let name = match attacks {
            [attack] => attack.name(),
            _ => "everything".to_owned(),
        };
        print_progress(&format!("attack: {name}, for {lasting:?}"));
        let mut measured = self.attack_until(stack, attacks, (lasting, &name), |_, _| false).await?;
        let stopped = Instant::now();
        let bound = quiet_p95.unwrap_or_default().mul_f64(MAX_P95_RATIO);
        while measured.recovery.is_none() && stopped.elapsed() < RECOVERY_TIMEOUT {
            tokio::time::sleep(POLL_INTERVAL).await;
            measured.recovery = recovery(&self.recorder.copy().calls, stopped, bound);
        }
        measured.watched_until = Instant::now();
        let rss = Memory::of(stack.server.pid()?)?.peak_mib;
        measured.max_rss_mib = measured.max_rss_mib.max(rss);
        Ok(measured)
    }

    /// Attacks for the given time, or until the condition is met.
    pub(super) async fn attack_until(
        &mut self,
        stack: &Stack,
        attacks: &[Attack],
        (lasting, name): (Duration, &str),
        is_enough: impl Fn(&Self, Instant) -> bool,
    ) -> anyhow::Result<Measured> {
        self.hostile.ensure_step().await?;
        let folder = &stack.folder.path;
        let plan = Plan {
            address: stack.address().to_string(),
            sizes: attacks.iter().map(|attack| (*attack, attack.size(self.scale))).collect(),
            hostile: self.hostile.facts.clone(),
            gzip_bomb: self.gzip_bomb.clone(),
            samples: folder.join(format!("samples-{name}.json")),
        };
        let server = stack.server.pid()?;
        Memory::reset_peak(server);
        let began = Instant::now();
        let mut attacker = AttackerProcess::start(&plan, folder, name).await?;
        let at_size = Instant::now();
        while at_size.elapsed() < lasting && !is_enough(self, began) {
            if !attacker.is_running() {
                bail!("the attacker has ended; see logs/attacker-{name}.log with --keep");
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let (ended, max_rss_mib) = (Instant::now(), Memory::of(server)?.peak_mib);
        let samples = attacker.end().await?;
        Ok(Measured {
            name: name.to_owned(),
            attacks: attacks.to_vec(),
            scale: self.scale,
            began,
            at_size,
            ended,
            watched_until: ended,
            recovery: None,
            samples,
            max_rss_mib,
        })
    }
}

impl Measured {
    /// Evaluates the phase from the victim's whole record.
    pub(super) fn phase(&self, record: &Record) -> Phase {
        let shape = |attack: &Attack| Shape::new(*attack, attack.size(self.scale), &self.samples);
        Phase {
            name: self.name.clone(),
            lasted: self.ended - self.at_size,
            attack: self.attacks.iter().map(|attack| (*attack, shape(attack))).collect(),
            counts: Counts::between(record, self.began, self.watched_until),
            p95: p95_of_reads(&record.calls, self.at_size, self.ended),
            recovery: self.recovery,
            max_rss_mib: self.max_rss_mib,
        }
    }
}
