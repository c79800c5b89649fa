//! Who may sign the tags of a registry.

use crate::text::is_hidden;

const MAX_BYTES: usize = 4_096;

/// Who may sign the tags of a registry: a line of an allowed-signers file of `ssh-keygen`, `alice@example.com ssh-ed25519
/// AAAA…`. After the name there may be the options `valid-after="TIME"` and `valid-before="TIME"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedSigner(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSigner {
    #[error("must be a name and a public SSH key in one line, such as `alice@example.com ssh-ed25519 AAAA…`")]
    Syntax,
    #[error("must begin with a name of letters, digits, and the characters `.`, `_`, `+`, `-`, `@`")]
    Name,
    #[error(
        "must not have other options than valid-after=\"TIME\" and valid-before=\"TIME\", with YYYYMMDD or YYYYMMDDHHMMSS, and Z for UTC"
    )]
    Option,
    #[error("must have a public key of a supported type, as in a `.pub` file")]
    Key,
}

/// The supported types of keys, and how a key of each begins: with the length of the type and the type. Certificates are
/// not among them.
const KEY_TYPES: [(&str, &str); 7] = [
    ("ssh-ed25519", "AAAAC3NzaC1lZDI1NTE5"),
    ("ssh-rsa", "AAAAB3NzaC1y"),
    ("ecdsa-sha2-nistp256", "AAAAE2VjZHNhLXNoYTItbmlzdHAy"),
    ("ecdsa-sha2-nistp384", "AAAAE2VjZHNhLXNoYTItbmlzdHAz"),
    ("ecdsa-sha2-nistp521", "AAAAE2VjZHNhLXNoYTItbmlzdHA1"),
    ("sk-ssh-ed25519@openssh.com", "AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29t"),
    ("sk-ecdsa-sha2-nistp256@openssh.com", "AAAAInNrLWVjZHNhLXNoYTItbmlzdHAyNTZAb3BlbnNzaC5j"),
];

impl AllowedSigner {
    /// The line is written to a file of `ssh-keygen`, where a line break, a pattern as the name, or another option would
    /// allow more.
    pub fn new(text: &str) -> Result<Self, InvalidSigner> {
        if text.len() > MAX_BYTES || text.chars().any(is_hidden) {
            return Err(InvalidSigner::Syntax);
        }
        let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        let (name, rest) = words.split_first().ok_or(InvalidSigner::Syntax)?;
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-@".contains(&byte);
        if !name.bytes().all(is_allowed) || name.starts_with('-') || is_key_type(name) {
            return Err(InvalidSigner::Name);
        }
        let rest = match rest.split_first() {
            Some((options, rest)) if options.contains('=') => {
                if are_options(options) {
                    rest
                } else {
                    return Err(InvalidSigner::Option);
                }
            }
            _ => rest,
        };
        match rest {
            [kind, key, ..] if is_key(kind, key) => Ok(Self(words.join(" "))),
            [_, _, ..] => Err(InvalidSigner::Key),
            _ => Err(InvalidSigner::Syntax),
        }
    }

    /// Returns the name, which versions have as their signer.
    pub fn name(&self) -> &str {
        self.0.split(' ').next().unwrap_or_default()
    }

    /// Returns the options with their times, without quotes.
    pub fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        let words = self.0.split(' ').nth(1).filter(|word| word.contains('='));
        let options = words.into_iter().flat_map(|words| words.split(','));
        options.filter_map(|option| option.split_once('=')).map(|(name, time)| (name, time.trim_matches('"')))
    }

    /// Returns the type of the public key.
    pub fn key_type(&self) -> &str {
        self.key_words().0
    }

    /// Returns the public key, as base64 of SSH's binary form.
    pub fn key(&self) -> &str {
        self.key_words().1
    }

    fn key_words(&self) -> (&str, &str) {
        let mut words = self.0.split(' ').skip(1).skip_while(|word| word.contains('='));
        (words.next().unwrap_or_default(), words.next().unwrap_or_default())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

fn is_key_type(word: &str) -> bool {
    KEY_TYPES.iter().any(|(kind, _)| *kind == word)
}

/// Each option can be given once.
fn are_options(words: &str) -> bool {
    let names: Vec<&str> =
        words.split(',').map(|option| option.split('=').next().unwrap_or_default()).collect();
    let is_repeated = names.iter().enumerate().any(|(at, name)| names[..at].contains(name));
    words.split(',').all(is_option) && !is_repeated
}

fn is_option(option: &str) -> bool {
    let Some(("valid-after" | "valid-before", quoted)) = option.split_once('=') else { return false };
    let time = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(quoted);
    let digits = time.strip_suffix('Z').unwrap_or(time);
    matches!(digits.len(), 8 | 12 | 14) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_key(kind: &str, key: &str) -> bool {
    let digits = key.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let is_base64 =
        digits.bytes().all(is_digit) && key.len() - digits.len() <= 2 && key.len().is_multiple_of(4);
    let is_long = key.len() >= 64;
    is_base64 && is_long && KEY_TYPES.iter().any(|(name, start)| *name == kind && key.starts_with(start))
}
