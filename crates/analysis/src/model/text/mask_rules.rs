//! The forms of secrets. Each rule adds the ranges that it finds; all of them begin and end between ASCII
//! characters, or at the ends of the text.

use std::ops::Range;

/// Bytes that a token can consist of after its prefix.
#[derive(Clone, Copy)]
enum Alphabet {
    /// Letters and digits.
    Alphanumeric,
    /// Also `_` and `-`.
    Name,
    /// Also `.`.
    Dotted,
}

impl Alphabet {
    const fn contains(self, byte: u8) -> bool {
        match self {
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Name => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
        }
    }
}

use Alphabet::{Alphanumeric, Dotted, Name};

/// Prefixes of tokens, what follows them, and how much of it is needed. The end of a token may have been cut off
/// with its line, so much less is needed than a complete token has.
const PREFIXES: &[(&str, Alphabet, usize)] = &[
    // Ours.
    ("grn_", Alphanumeric, 8),
    ("grr_", Alphanumeric, 8),
    ("grj_", Alphanumeric, 8),
    // GitHub, GitLab, Bitbucket.
    ("ghp_", Alphanumeric, 8),
    ("gho_", Alphanumeric, 8),
    ("ghu_", Alphanumeric, 8),
    ("ghs_", Alphanumeric, 8),
    ("ghr_", Alphanumeric, 8),
    ("github_pat_", Name, 8),
    ("glpat-", Dotted, 8),
    ("gldt-", Name, 8),
    ("glrt-", Dotted, 8),
    ("glcbt-", Name, 8),
    ("glptt-", Name, 8),
    ("glft-", Name, 8),
    ("glsoat-", Name, 8),
    ("glagent-", Name, 8),
    ("ATBB", Alphanumeric, 20),
    ("ATATT3", Name, 20),
    // Models, clouds, packages, payments, chats.
    ("sk-", Name, 16),
    ("sk_live_", Alphanumeric, 8),
    ("sk_test_", Alphanumeric, 8),
    ("rk_live_", Alphanumeric, 8),
    ("whsec_", Alphanumeric, 8),
    ("AKIA", Alphanumeric, 12),
    ("ASIA", Alphanumeric, 12),
    ("ABIA", Alphanumeric, 12),
    ("ACCA", Alphanumeric, 12),
    ("AIza", Name, 20),
    ("ya29.", Dotted, 16),
    ("GOCSPX-", Name, 8),
    ("dop_v1_", Alphanumeric, 8),
    ("doo_v1_", Alphanumeric, 8),
    ("hf_", Alphanumeric, 16),
    ("npm_", Alphanumeric, 20),
    ("pypi-", Name, 20),
    ("rubygems_", Alphanumeric, 16),
    ("dckr_pat_", Name, 8),
    ("xoxa-", Name, 8),
    ("xoxb-", Name, 8),
    ("xoxc-", Name, 8),
    ("xoxd-", Name, 8),
    ("xoxe-", Name, 8),
    ("xoxe.", Dotted, 8),
    ("xoxp-", Name, 8),
    ("xoxr-", Name, 8),
    ("xoxs-", Name, 8),
    ("xapp-", Name, 8),
    ("SG.", Dotted, 20),
    ("hvs.", Dotted, 8),
    ("hvb.", Dotted, 8),
    ("shpat_", Alphanumeric, 8),
    ("lin_api_", Alphanumeric, 8),
    ("AGE-SECRET-KEY-1", Alphanumeric, 8),
    ("eyJ", Dotted, 16),
];

/// The bytes that prefixes begin with.
const IS_FIRST: [bool; 256] = {
    let (mut is_first, mut at) = ([false; 256], 0);
    while at < PREFIXES.len() {
        is_first[PREFIXES[at].0.as_bytes()[0] as usize] = true;
        at += 1;
    }
    is_first
};

/// Finds tokens by their prefix. What follows has to contain a digit or an upper-case letter, so that
/// `sk-learn-contribution` stays.
pub(super) fn prefixed_tokens(text: &str, ranges: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    for start in (0..bytes.len()).filter(|at| IS_FIRST[usize::from(bytes[*at])]) {
        // A short prefix also occurs inside ordinary identifiers: `task-` contains `sk-`.
        let is_boundary = start == 0 || !bytes[start - 1].is_ascii_alphanumeric();
        for (prefix, alphabet, min) in PREFIXES {
            if !bytes[start..].starts_with(prefix.as_bytes()) || !(is_boundary || prefix.len() > 3) {
                continue;
            }
            let body = start + prefix.len();
            let end = body + bytes[body..].iter().take_while(|byte| alphabet.contains(**byte)).count();
            let is_random =
                bytes[body..end].iter().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
            if end - body >= *min && is_random {
                ranges.push(start..end);
            }
        }
    }
}

const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";
const PEM_DASHES: &str = "-----";
/// A longer distance between both lines is no block.
const MAX_PEM_BYTES: usize = 16 << 10;

/// Finds PEM blocks. A block whose end was cut off reaches as far as lines have the form of its content.
pub(super) fn pem_blocks(text: &str, ranges: &mut Vec<Range<usize>>) {
    for (start, _) in text.match_indices(PEM_BEGIN) {
        let rest = &text[start..];
        let closing = rest.find(PEM_END).filter(|at| *at <= MAX_PEM_BYTES).map(|at| {
            let after = at + PEM_END.len();
            after + rest[after..].find(PEM_DASHES).map_or(0, |dashes| dashes + PEM_DASHES.len())
        });
        let length = closing.unwrap_or_else(|| {
            let mut lines = rest.split_inclusive('\n');
            let first = lines.next().map_or(0, str::len);
            first + lines.take_while(|line| is_pem_content(line)).map(str::len).sum::<usize>()
        });
        ranges.push(start..start + length);
    }
}

fn is_pem_content(line: &str) -> bool {
    let line = line.trim();
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    line.bytes().all(is_base64) || ["Proc-Type:", "DEK-Info:"].iter().any(|header| line.starts_with(header))
}

/// Finds user names and passwords in addresses.
pub(super) fn url_credentials(text: &str, ranges: &mut Vec<Range<usize>>) {
    const SCHEME_END: &str = "://";
    for (at, _) in text.match_indices(SCHEME_END) {
        let start = at + SCHEME_END.len();
        let is_end =
            |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>' | '`');
        let authority = text[start..].split(is_end).next().unwrap_or_default();
        if let Some(length) = authority.rfind('@').filter(|length| *length > 0) {
            ranges.push(start..start + length);
        }
    }
}

/// Finds the credentials of `Authorization` headers.
pub(super) fn authorizations(text: &str, ranges: &mut Vec<Range<usize>>) {
    let lower = text.to_ascii_lowercase();
    for scheme in ["bearer ", "basic "] {
        for (at, _) in lower.match_indices(scheme) {
            let start = at + scheme.len();
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
            let value = &text.as_bytes()[start..];
            let value = &value[..value.iter().take_while(|byte| is_part(byte)).count()];
            let is_random =
                value.iter().skip(1).any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
            if value.len() >= 8 && is_random {
                ranges.push(start..start + value.len());
            }
        }
    }
}

/// Ends of names whose value is a secret.
const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "secret_key",
    "secretkey",
    "api_key",
    "apikey",
    "api-key",
    "access_key",
    "accesskey",
    "accountkey",
    "account_key",
    "private_key",
    "privatekey",
    "auth_token",
    "_token",
    "-token",
    "credential",
    "credentials",
    "sharedaccesskey",
    "signature",
];
/// Also those of assignments with `=`: before `:`, `token` is common in messages of parsers (`unexpected token: …`).
const TOKEN: &str = "token";

/// Finds `name=value`, `name: value` and `"name": "value"`.
pub(super) fn assignments(text: &str, ranges: &mut Vec<Range<usize>>) {
    const MIN_BYTES: usize = 4;
    let bytes = text.as_bytes();
    for (at, sign) in text.match_indices(['=', ':']) {
        let before = text[..at].trim_end_matches(['"', '\'', ' ']);
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let length = before.bytes().rev().take_while(|byte| is_name(byte)).count();
        let name = before[before.len() - length..].to_ascii_lowercase();
        let is_secret =
            SECRET_NAMES.iter().any(|end| name.ends_with(end)) || sign == "=" && name.ends_with(TOKEN);
        if !is_secret {
            continue;
        }
        let mut start = at + sign.len();
        start += bytes[start..].iter().take_while(|byte| **byte == b' ').count();
        let quote = bytes.get(start).copied().filter(|byte| matches!(byte, b'"' | b'\''));
        start += usize::from(quote.is_some());
        let is_end = |byte: &u8| match quote {
            Some(quote) => *byte == quote || *byte == b'\n',
            None => byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b',' | b';' | b'&' | b')'),
        };
        let end = start + bytes[start..].iter().take_while(|byte| !is_end(byte)).count();
        if end - start >= MIN_BYTES {
            ranges.push(start..end);
        }
    }
}

/// Finds long runs of base64 whose kinds of characters change as often as in random ones. Text, paths, names in
/// camel case, and hexadecimal hashes stay.
pub(super) fn random_runs(text: &str, ranges: &mut Vec<Range<usize>>) {
    const MIN_BYTES: usize = 32;
    const MIN_CHANGES_PERCENT: usize = 45;
    let bytes = text.as_bytes();
    let is_part =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-' | b'=');
    let kind = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let mut start = 0;
    while start < bytes.len() {
        let end = start + bytes[start..].iter().take_while(|byte| is_part(byte)).count();
        let run = &bytes[start..end];
        let has_all = (0..3).all(|wanted| run.iter().any(|byte| kind(*byte) == wanted));
        let changes = run.windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
        if run.len() >= MIN_BYTES && has_all && changes * 100 >= run.len() * MIN_CHANGES_PERCENT {
            ranges.push(start..end);
        }
        start = end + 1;
    }
}
