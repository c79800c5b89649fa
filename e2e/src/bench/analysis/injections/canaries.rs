//! Secrets of known forms that were never real.

use crate::corpus::noise::Noise;

const BASE62: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SEED: u64 = 42;

/// Prefixes with the length of what follows.
const TOKENS: [(&str, usize); 38] = [
    ("ghp_", 36),
    ("gho_", 36),
    ("ghu_", 36),
    ("ghs_", 36),
    ("ghr_", 36),
    ("github_pat_", 82),
    ("glpat-", 20),
    ("gldt-", 20),
    ("glrt-", 20),
    ("glcbt-", 20),
    ("glptt-", 40),
    ("sk-", 48),
    ("sk-proj-", 64),
    ("sk-ant-api03-", 95),
    ("sk_live_", 24),
    ("rk_live_", 24),
    ("whsec_", 32),
    ("xoxb-", 48),
    ("xoxp-", 48),
    ("xapp-1-", 48),
    ("AIza", 35),
    ("ya29.", 60),
    ("GOCSPX-", 28),
    ("dop_v1_", 64),
    ("hf_", 34),
    ("npm_", 36),
    ("pypi-", 80),
    ("dckr_pat_", 27),
    ("SG.", 66),
    ("hvs.", 90),
    ("shpat_", 32),
    ("lin_api_", 40),
    ("AGE-SECRET-KEY-1", 58),
    ("grn_", 36),
    ("grr_", 36),
    ("grj_", 36),
    ("ATATT3", 60),
    ("rubygems_", 48),
];

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
    let tokens = TOKENS.iter().map(|(prefix, length)| (*prefix, "", *length));
    let all = tokens.chain(ASSIGNED);
    all.map(|(before, after, length)| {
        let secret = secret(length);
        Canary { printed: format!("{before}{secret}{after}"), secret }
    })
    .collect()
}
