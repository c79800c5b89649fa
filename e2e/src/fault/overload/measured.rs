//! What was measured in one phase, and how it is evaluated when everything that the victim had started has ended.

use std::time::{Duration, Instant};

use crate::fault::overload::alternation::Side;
use crate::fault::overload::attack::Attack;
use crate::fault::overload::judge::Phase;
use crate::fault::overload::options::Scale;
use crate::fault::overload::pair::{Pair, Window};
use crate::fault::overload::sample::Sample;
use crate::fault::overload::server_use::ServerUse;
use crate::fault::overload::shape::Shape;
use crate::fault::overload::victim::recorder::Record;
use crate::fault::overload::window::{Counts, Reads};
use crate::parts::stalls::Stalls;

/// A phase with its times.
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) attacks: Vec<Attack>,
    scale: Scale,
    began: Instant,
    pub(super) windows: Vec<MeasuredWindow>,
    pub(super) periods: Vec<AttackPeriod>,
    /// How long the victim took to recover, each time that the attack was switched off; `None` if it did not recover in
    /// time.
    pub(super) recoveries: Vec<Option<Duration>>,
    /// How long the campaign has waited after attacks, in total.
    pub(super) settled: Duration,
    /// When the campaign stopped observing.
    pub(super) watched_until: Instant,
    pub(super) max_rss_mib: f64,
}

pub(super) struct MeasuredWindow {
    pub(super) pair: usize,
    pub(super) side: Side,
    pub(super) from: Instant,
    pub(super) to: Instant,
    pub(super) server: ServerUse,
}

/// A time in which the attack was at its size: one window, or two without a quiet one between them.
pub(super) struct AttackPeriod {
    pub(super) at_size: Instant,
    pub(super) ended: Instant,
    pub(super) samples: Vec<Sample>,
}

impl Measured {
    /// Begins a phase.
    pub(super) fn new(attacks: &[Attack], scale: Scale) -> Self {
        let name = match attacks {
            [attack] => attack.name(),
            _ => "everything".to_owned(),
        };
        let began = Instant::now();
        Self {
            name,
            attacks: attacks.to_vec(),
            scale,
            began,
            windows: Vec::new(),
            periods: Vec::new(),
            recoveries: Vec::new(),
            settled: Duration::ZERO,
            watched_until: began,
            max_rss_mib: 0.0,
        }
    }

    /// Evaluates the phase from the victim's whole record.
    pub(super) fn phase(&self, record: &Record, stalls: &Stalls) -> Phase {
        let samples: Vec<&[Sample]> = self.periods.iter().map(|period| period.samples.as_slice()).collect();
        let shape = |attack: &Attack| Shape::new(*attack, attack.size(self.scale), &samples);
        let window = |pair: usize, side: Side| {
            let measured = self.windows.iter().find(|window| window.pair == pair && window.side == side);
            measured.map_or_else(Window::default, |measured| Window {
                reads: Reads::between(&record.calls, stalls, (measured.from, measured.to), side),
                server: measured.server,
            })
        };
        let pairs = self.windows.iter().map(|window| window.pair + 1).max().unwrap_or_default();
        let recoveries: Option<Vec<Duration>> = self.recoveries.iter().copied().collect();
        Phase {
            name: self.name.clone(),
            lasted: self.periods.iter().map(|period| period.ended - period.at_size).sum(),
            attack: self.attacks.iter().map(|attack| (*attack, shape(attack))).collect(),
            counts: Counts::between(record, self.began, self.watched_until),
            pairs: (0..pairs)
                .map(|pair| Pair { quiet: window(pair, Side::Quiet), attack: window(pair, Side::Attack) })
                .collect(),
            recovery: recoveries.and_then(|recoveries| recoveries.into_iter().max()),
            settled: self.settled,
            max_rss_mib: self.max_rss_mib,
        }
    }
}
