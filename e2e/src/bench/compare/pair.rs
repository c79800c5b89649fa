//! A pair: one run of each side, directly after each other.

use std::fmt;

/// One run of one side.
pub(crate) struct Run {
    pub(crate) per_second: f64,
    /// Processor time per operation in microseconds, by program.
    pub(crate) cpu_micros: Vec<(&'static str, f64)>,
    /// The share of the machine that other programs used.
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
    /// Ratio of throughput: above 1, the new build is faster.
    pub(crate) fn ratio(&self) -> f64 {
        self.new.per_second / self.baseline.per_second
    }

    /// Ratio of processor time per operation: above 1, the new build costs more.
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
