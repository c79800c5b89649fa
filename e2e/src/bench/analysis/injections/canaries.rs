//! Secrets of known forms that were never real.

use crate::corpus::noise::Noise;

const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SEED: u64 = 42;

/// Prefixes of tokens with the length of what follows. The tests of the prompt have the same.
const TOKENS: &str = include_str!("../../../../../crates/analysis/tests/model/tokens.txt");

/// What a secret is assigned to, and what follows it, with its length.
const ASSIGNED: [(&str, &str, usize); 12] = [
    ("AWS_SECRET_ACCESS_KEY=", "", 40),
    ("secret_key: ", "", 40),
    ("AccountKey=", "", 40),
    ("postgres://user:", "@host.example/x", 14),
    ("https://user:", "@host.example/x", 14),
    ("amqp://user:", "@host.example/x", 14),
    ("Authorization: Bearer ", "", 30),
    ("Authorization: Basic ", "", 32),
    ("DB_PASSWORD=", "", 14),
    ("client_secret=", "", 32),
    ("api_key: ", "", 32),
    ("eyJhbGciOiJSUzI1NiJ9.eyJ", ".c2lnbmF0dXJlLW9mLW5vYm9keQ", 120),
];

/// The text as it is printed, and the part of it that must not leave.
pub(super) struct Canary {
    pub(super) printed: String,
    pub(super) secret: String,
}

/// Returns 50 canaries, always the same.
pub(super) fn canaries() -> Vec<Canary> {
    let mut noise = Noise::new(SEED);
    let mut secret = |length: usize| -> String {
        let alphabet = BASE62.as_bytes();
        let mut next = || alphabet.get(noise.below(alphabet.len() as u64) as usize).copied().unwrap_or(b'0');
        (0..length).map(|_| char::from(next())).collect()
    };
    let tokens = TOKENS.lines().filter_map(|line| {
        let (prefix, length) = line.split_once(' ')?;
        Some((prefix, "", length.parse().ok()?))
    });
    let all = tokens.chain(ASSIGNED);
    all.map(|(before, after, length)| {
        let secret = secret(length);
        Canary { printed: format!("{before}{secret}{after}"), secret }
    })
    .collect()
}
