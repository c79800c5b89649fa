//! The report on the pairs of a benchmark.

use std::fmt;

use serde_json::{Map, Value, json};

use super::pair::{Pair, Run};
use super::statistics::Quartiles;

pub(crate) struct Report {
    pub(crate) benchmark: &'static str,
    pub(crate) pairs: Vec<Pair>,
}

impl Report {
    fn quartiles(&self, figure: impl Fn(&Pair) -> f64) -> Quartiles {
        Quartiles::of(&self.pairs.iter().map(figure).collect::<Vec<_>>())
    }

    fn ratio(&self) -> Quartiles {
        self.quartiles(Pair::ratio)
    }

    pub(crate) fn is_not_slower(&self) -> bool {
        self.ratio().is_not_slower()
    }

    /// Returns one object for all reports.
    pub(crate) fn json(reports: &[Self]) -> Value {
        let benchmarks = reports.iter().map(|report| (report.benchmark.to_owned(), report.own_json()));
        json!({
            "notSlower": reports.iter().all(Self::is_not_slower),
            "benchmarks": Map::from_iter(benchmarks),
        })
    }

    fn own_json(&self) -> Value {
        let (ratio, cpu) = (self.ratio(), self.quartiles(Pair::cpu_ratio));
        json!({
            "notSlower": self.is_not_slower(),
            "ratio": to_json(&ratio),
            "ratios": self.pairs.iter().map(Pair::ratio).collect::<Vec<_>>(),
            "cpuRatio": to_json(&cpu),
            "cpuRatios": self.pairs.iter().map(Pair::cpu_ratio).collect::<Vec<_>>(),
            "new": self.side(|pair| &pair.new),
            "baseline": self.side(|pair| &pair.baseline),
        })
    }

    /// Returns the medians of one side.
    fn side(&self, side: impl Fn(&Pair) -> &Run) -> Value {
        let median = |figure: &dyn Fn(&Run) -> f64| self.quartiles(|pair| figure(side(pair))).median;
        let parts = self.pairs.first().map(|pair| &side(pair).cpu_micros[..]).unwrap_or_default();
        let mut cpu = Map::new();
        for (at, (part, _)) in parts.iter().enumerate() {
            let of_part = |run: &Run| run.cpu_micros.get(at).map_or(f64::NAN, |(_, micros)| *micros);
            cpu.insert((*part).to_owned(), median(&of_part).into());
        }
        json!({
            "operationsPerSecond": median(&|run| run.per_second),
            "cpuMicrosPerOperation": median(&Run::cpu),
            "cpuMicrosPerOperationByPart": cpu,
            "othersShareOfMachine": median(&|run| run.others_share),
        })
    }
}

fn to_json(quartiles: &Quartiles) -> Value {
    let Quartiles { lower, median, upper } = quartiles;
    json!({ "lowerQuartile": lower, "median": median, "upperQuartile": upper })
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ratio, cpu) = (self.ratio(), self.quartiles(Pair::cpu_ratio));
        write!(
            formatter,
            "{}: {}; ratio {:.3} (quartiles {:.3} and {:.3}) of {} pairs; processor time per operation {:.3} ({:.3} and {:.3})",
            self.benchmark,
            if self.is_not_slower() { "not slower" } else { "SLOWER" },
            ratio.median,
            ratio.lower,
            ratio.upper,
            self.pairs.len(),
            cpu.median,
            cpu.lower,
            cpu.upper,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(per_second: f64, server: f64) -> Run {
        Run { per_second, cpu_micros: vec![("server", server), ("postgres", 10.0)], others_share: 0.0 }
    }

    fn report(rates: &[(f64, f64)]) -> Report {
        let pair =
            |(new, baseline): &(f64, f64)| Pair { new: run(*new, 50.0), baseline: run(*baseline, 20.0) };
        Report { benchmark: "api", pairs: rates.iter().map(pair).collect() }
    }

    #[test]
    fn ratios_are_new_by_baseline() {
        let json = Report::json(&[report(&[(90.0, 100.0), (80.0, 100.0), (70.0, 100.0)])]);
        assert_eq!(json["notSlower"], false);
        let api = &json["benchmarks"]["api"];
        assert_eq!(api["ratio"]["median"], 0.8);
        assert_eq!(api["cpuRatio"]["median"], 2.0);
        assert_eq!(api["new"]["cpuMicrosPerOperation"], 60.0);
        assert_eq!(api["baseline"]["cpuMicrosPerOperationByPart"]["server"], 20.0);
    }

    #[test]
    fn one_slower_benchmark_is_enough() {
        let (slow, fast) = (report(&[(50.0, 100.0)]), report(&[(100.0, 100.0)]));
        assert_eq!(Report::json(&[fast])["notSlower"], true);
        assert_eq!(Report::json(&[report(&[(100.0, 100.0)]), slow])["notSlower"], false);
    }
}
