//! A run of each side, one right after the other.

use std::fmt;

/// One run of one side.
pub(crate) struct Run {
    pub(crate) per_second: f64,
    /// Processor time for one operation, in microseconds, by who used it.
    pub(crate) cpu_micros: Vec<(&'static str, f64)>,
    /// How much of the machine went to others.
    pub(crate) others_share: f64,
}

pub(crate) struct Pair {
    pub(crate) new: Run,
    pub(crate) baseline: Run,
}

impl Run {
    pub(crate) fn cpu(&self) -> f64 {
        self.cpu_micros.iter().map(|(_, micros)| micros).sum()
    }
}

impl Pair {
    /// Of throughput: above 1, the new one is faster.
    pub(crate) fn ratio(&self) -> f64 {
        self.new.per_second / self.baseline.per_second
    }

    /// Of processor time for one operation: above 1, the new one costs more.
    pub(crate) fn cpu_ratio(&self) -> f64 {
        self.new.cpu() / self.baseline.cpu()
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { new, baseline } = self;
        write!(
            formatter,
            "{:.1}/s against {:.1}/s, ratio {:.3}; {:.0} µs of processor against {:.0}, ratio {:.3}; others had {:.0} % and {:.0} % of the machine",
            new.per_second,
            baseline.per_second,
            self.ratio(),
            new.cpu(),
            baseline.cpu(),
            self.cpu_ratio(),
            new.others_share * 100.0,
            baseline.others_share * 100.0,
        )
    }
}
