//! Where the noise is: a log as it could have been, around the kept output of a case.

use std::collections::HashMap;

use greenroom_analysis::reduce::{Reducer, TemplateSet};

use crate::corpus::noise::Noise;

/// Noise of a run has one of this many seeds.
const SEEDS: u64 = 40;
const FIRST_GOOD_SEED: u64 = 100;
const FIRST_BAD_SEED: u64 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Layout {
    /// Noise before the case's own output.
    Plain,
    /// A clean-up behind it, which good runs have as well.
    Trailing,
    /// Lines that no good run has, and that are harmless, somewhere in the noise.
    Drift,
}

/// A log and the number of lines before the case's own output.
pub(super) struct Log {
    pub(super) text: String,
    pub(super) lines_before: usize,
}

/// Noise that several cases share, because generating it takes most of the time.
pub(super) struct NoisePool {
    builds: HashMap<u64, String>,
    good: HashMap<(Layout, u64), TemplateSet>,
}

impl NoisePool {
    pub(super) fn new() -> Self {
        Self { builds: HashMap::new(), good: HashMap::new() }
    }

    /// Returns a failed run's log. `name` decides which noise it has.
    pub(super) fn log(&mut self, layout: Layout, name: &str, output: &str) -> Log {
        let seed = FIRST_BAD_SEED + stable_hash(name) % SEEDS;
        let build = self.builds.entry(seed).or_insert_with(|| Noise::new(seed).build());
        let mut noise = Noise::new(seed + SEEDS);
        let mut text = if layout == Layout::Drift {
            let mut lines: Vec<&str> = build.lines().collect();
            let drift = noise.drift();
            // In the last three quarters, and not directly before the failure.
            let at = lines.len() / 4 + noise.below(lines.len() as u64 * 7 / 10) as usize;
            lines.splice(at..at, drift.iter().map(String::as_str));
            lines.join("\n") + "\n"
        } else {
            build.clone()
        };
        let lines_before = text.lines().count();
        text.push_str(output);
        if layout == Layout::Trailing {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&noise.clean_up());
        }
        Log { text, lines_before }
    }

    /// Returns the templates of the noise of a good run.
    pub(super) fn good_noise(&mut self, layout: Layout, name: &str) -> TemplateSet {
        // The lines of drift are in bad runs only.
        let layout = if layout == Layout::Drift { Layout::Plain } else { layout };
        let seed = FIRST_GOOD_SEED + stable_hash(name) % SEEDS;
        let set = self.good.entry((layout, seed)).or_insert_with(|| {
            let mut noise = Noise::new(seed);
            let build = noise.build();
            templates(&if layout == Layout::Trailing { build + &noise.clean_up() } else { build })
        });
        set.clone()
    }
}

pub(super) fn templates(log: &str) -> TemplateSet {
    let mut reducer = Reducer::new(&[]);
    reducer.push(log.as_bytes());
    reducer.templates()
}

/// FNV-1a: the same with every version of the standard library.
fn stable_hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
