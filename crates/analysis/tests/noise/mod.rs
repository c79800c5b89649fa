//! Lines around a failure: times, ids and numbers change from run to run, and some look like errors and are harmless.

/// A generator of pseudorandom numbers, so that every run of the tests has the same logs.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// `@` is a number and `%` an id.
const LINES: &[&str] = &[
    "2026-11-17T23:@:@.@Z INFO worker-@ processed batch % in @ ms",
    "2026-11-17T23:@:@.@Z DEBUG pool: @ of @ connections in use",
    "2026-11-17T23:@:@.@Z WARN slow request % took @ ms",
    "GET /api/v1/items/% 200 @ms",
    "Downloading package-@.@.@.tar.gz (@ kB)",
    "   Compiling module_@ v@.@.@",
    "[@/@] Building object %.o",
    "Step @/@ : RUN prepare --id %",
    " ---> %",
    "test case_@ ... ok",
    "0 errors, 0 warnings in @ files",
    "error budget at @ %",
    "2026-11-17T23:@:@.@Z WARN retry @ of 3: connection reset by peer",
    "2026-11-17T23:@:@.@Z ERROR probe failed, service is still starting (attempt @)",
    "test returns_error_on_bad_input_@ ... ok",
    "note: fail-fast is on, timeout is @ s",
    "cache: not found in remote %, building",
    "\u{1b}[32mdone\u{1b}[0m in @ s",
    "progress @ %\rprogress 100 %",
    "",
];

pub fn fill(random: &mut Random, line: &str) -> String {
    let mut text = String::new();
    for character in line.chars() {
        match character {
            '@' => text.push_str(&random.below(1_000).to_string()),
            '%' => text.push_str(&format!("{:012x}", random.next() >> 16)),
            other => text.push(other),
        }
    }
    text.push('\n');
    text
}

pub fn noise(random: &mut Random, lines: usize) -> String {
    let line = |_| {
        let line = random.pick(LINES);
        fill(random, line)
    };
    (0..lines).map(line).collect()
}
