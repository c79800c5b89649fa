//! Noise: what a build prints that has nothing to do with its failure. Made from a seed, so that it need not be stored.
//! Times, durations, ids, hashes and the order of concurrent work differ in each run. Some lines contain words such as
//! "error" although nothing is wrong, and a few lines are in one run only.

mod text;

use text::{CLEAN_UP, CRATES, DRIFT_HEADS, DRIFT_TAILS, FEW_WORDS, HARMLESS, LINES, RARE};

/// Number of lines before a failure.
const BUILD_LINES: usize = 1_500;
/// Number of lines of a clean-up, and of lines that no earlier run has.
const MORE_LINES: usize = 300;
const START_SECONDS: u64 = 17 * 3600;

/// A sequence of pseudorandom numbers (SplitMix64), the same on every machine and with every version of libraries.
pub(crate) struct Noise {
    state: u64,
    seconds: u64,
}

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        let mut noise = Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), seconds: START_SECONDS };
        noise.seconds += noise.below(3600);
        noise
    }

    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }

    fn one_of(&mut self, texts: &[&'static str]) -> &'static str {
        texts.get(self.below(texts.len() as u64) as usize).copied().unwrap_or_default()
    }

    fn shuffle<T>(&mut self, values: &mut [T]) {
        for index in (1..values.len()).rev() {
            values.swap(index, self.below(index as u64 + 1) as usize);
        }
    }

    /// Returns the output of a build. Every run has all of the lines that look like failures.
    pub(crate) fn build(&mut self) -> String {
        let mut lines = Vec::with_capacity(BUILD_LINES);
        let mut crates: Vec<&str> = CRATES.split_whitespace().collect();
        self.shuffle(&mut crates);
        for name in crates {
            let version = format!("{}.{}.{}", self.below(4), self.below(30), self.below(20));
            lines.push(format!("   Compiling {name} v{version}"));
        }
        let of_words =
            |text: &&str| FEW_WORDS.iter().map(|word| text.replace("{v}", word)).collect::<Vec<_>>();
        let mut texts: Vec<String> = HARMLESS.iter().flat_map(of_words).collect();
        while lines.len() + texts.len() < BUILD_LINES {
            let kind = if self.below(100) == 0 { RARE } else { LINES };
            texts.push(self.one_of(kind).to_owned());
        }
        self.shuffle(&mut texts);
        for text in texts {
            lines.push(self.fill(&text));
        }
        lines.join("\n") + "\n"
    }

    /// Returns the output of a clean-up, which good runs have as well.
    pub(crate) fn clean_up(&mut self) -> String {
        let mut lines = String::new();
        for _ in 0..MORE_LINES {
            let text = self.one_of(CLEAN_UP);
            lines += &self.fill(text);
            lines.push('\n');
        }
        lines
    }

    /// Returns lines that no other run has, and that are harmless.
    pub(crate) fn drift(&mut self) -> Vec<String> {
        let line = |noise: &mut Self| {
            let (head, tail) = (noise.one_of(DRIFT_HEADS), noise.one_of(DRIFT_TAILS));
            let word = noise.word();
            noise.fill(&format!("{head} {word} {tail}"))
        };
        (0..MORE_LINES).map(|_| line(self)).collect()
    }

    /// Returns a word that no other line has.
    fn word(&mut self) -> String {
        let syllables = ["ka", "lo", "mi", "ru", "te", "vo", "zu", "pri", "ston", "dal", "fen", "gor"];
        (0..4).map(|_| self.one_of(&syllables)).collect()
    }

    /// Replaces `{n}` by a number, `{h}` by a hash, `{i}` by a short id, `{t}` by the time, `{d}` by a duration, `{w}` or
    /// `{v}` by a name, and `{x}` by random letters.
    fn fill(&mut self, text: &str) -> String {
        self.seconds += self.below(2);
        let mut filled = String::with_capacity(text.len() + 32);
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, next) = after.split_once('}').unwrap_or((after, ""));
            filled.push_str(before);
            filled.push_str(&self.value(name));
            rest = next;
        }
        filled + rest
    }

    fn value(&mut self, name: &str) -> String {
        let seconds = self.seconds;
        match name {
            "n" => self.below(20_000).to_string(),
            "s" => self.below(64).to_string(),
            "h" => (0..4).map(|_| format!("{:016x}", self.number())).collect(),
            "i" => format!("{:012x}", self.number() >> 16),
            "t" => format!(
                "{:02}:{:02}:{:02}.{:03}",
                seconds / 3600 % 24,
                seconds / 60 % 60,
                seconds % 60,
                self.below(1000)
            ),
            "d" => format!("{}.{:02}s", self.below(90), self.below(100)),
            "w" => self.one_of(text::WORDS).to_owned(),
            "v" => self.one_of(FEW_WORDS).to_owned(),
            "x" => (0..5).map(|_| char::from(b'a' + self.below(26) as u8)).collect(),
            other => format!("{{{other}}}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Noise;

    #[test]
    fn a_seed_makes_the_same_noise_each_time() {
        assert_eq!(Noise::new(7).build(), Noise::new(7).build());
        assert_ne!(Noise::new(7).build(), Noise::new(8).build());
    }

    #[test]
    fn every_run_has_all_harmless_lines() {
        for seed in 1..20 {
            let noise = Noise::new(seed).build();
            assert!(noise.contains("\ngateway: panic handler installed\n"), "{seed}");
        }
    }

    #[test]
    fn noise_has_its_length_and_no_placeholders() {
        let noise = [Noise::new(1).build(), Noise::new(1).clean_up(), Noise::new(1).drift().join("\n")];
        assert_eq!(noise.each_ref().map(|text| text.lines().count()), [1_500, 300, 300]);
        assert!(noise.iter().all(|text| !text.contains('{')));
    }
}
