//! Lines directly before and behind a failure.

use super::noise::{Random, fill};

const NOUNS: &[&str] = &[
    "cache", "queue", "bucket", "worker", "index", "shard", "replica", "cluster", "volume", "image", "layer",
    "module", "asset", "bundle", "schema", "tenant", "route", "proxy", "session", "report", "metric",
    "chart", "secret", "token",
];
const VERBS: &[&str] = &[
    "warming",
    "loading",
    "checking",
    "pruning",
    "copying",
    "scanning",
    "linking",
    "packing",
    "publishing",
    "syncing",
    "removing",
    "closing",
    "flushing",
    "stopping",
    "archiving",
    "rotating",
];

/// Lines that no other run has.
pub fn drift(random: &mut Random) -> String {
    (0..300).map(|_| sentence(random)).collect()
}

fn sentence(random: &mut Random) -> String {
    let words = [random.pick(VERBS), random.pick(NOUNS), "of", random.pick(NOUNS), "for", random.pick(NOUNS)];
    fill(random, &format!("{} (@ ms)", words.join(" ")))
}

/// The same lines in every run.
pub fn clean_up(random: &mut Random) -> String {
    let same = &mut Random::new(7);
    (0..300).map(|_| sentence(same)).chain([fill(random, "clean-up took @ ms")]).collect()
}
