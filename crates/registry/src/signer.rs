//! Who may sign the tags of a registry. Pure.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const MAX_BYTES: usize = 4096;
const KEY_TYPES: [&str; 7] = [
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
];

/// A name and a public key, as a line of an allowed-signers file of `ssh-keygen`: `alice@example.com ssh-ed25519 AAAA…`.
/// After the name there may be the options `valid-after="TIME"` and `valid-before="TIME"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedSigner {
    name: String,
    valid_after: Option<String>,
    valid_before: Option<String>,
    key_type: String,
    key: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSigner {
    #[error("a signer is one line: a name, and a public key such as `alice@example.com ssh-ed25519 AAAA…`")]
    Syntax,
    #[error("the name of a signer has letters, digits, and the characters `.`, `_`, `+`, `-`, `@`")]
    Name,
    #[error(
        "only the options valid-after=\"TIME\" and valid-before=\"TIME\" are possible; TIME is YYYYMMDD or YYYYMMDDHHMMSS, with a Z for UTC"
    )]
    Option,
    #[error("the public key of a signer is not of a supported type, or is damaged")]
    Key,
}

impl AllowedSigner {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the public key in SSH's binary form.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }
}

impl FromStr for AllowedSigner {
    type Err = InvalidSigner;

    fn from_str(line: &str) -> Result<Self, InvalidSigner> {
        if line.len() > MAX_BYTES || line.contains(|letter: char| letter.is_control()) {
            return Err(InvalidSigner::Syntax);
        }
        let mut words = line.split(' ').filter(|word| !word.is_empty());
        let name = words.next().ok_or(InvalidSigner::Syntax)?;
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-@".contains(&byte);
        if !name.bytes().all(is_allowed) || name.starts_with('-') || KEY_TYPES.contains(&name) {
            return Err(InvalidSigner::Name);
        }
        let (mut valid_after, mut valid_before) = (None, None);
        let mut word = words.next().ok_or(InvalidSigner::Syntax)?;
        if word.contains('=') {
            for option in word.split(',') {
                match option.split_once('=') {
                    Some(("valid-after", time)) => valid_after = Some(parse_time(time)?),
                    Some(("valid-before", time)) => valid_before = Some(parse_time(time)?),
                    _ => return Err(InvalidSigner::Option),
                }
            }
            word = words.next().ok_or(InvalidSigner::Syntax)?;
        }
        let key = words.next().and_then(|text| STANDARD.decode(text).ok()).ok_or(InvalidSigner::Key)?;
        // The type is repeated in the key, after its length.
        let type_in_key = key.get(4..).and_then(|rest| rest.get(..word.len()));
        if !KEY_TYPES.contains(&word) || type_in_key != Some(word.as_bytes()) {
            return Err(InvalidSigner::Key);
        }
        Ok(Self { name: name.to_owned(), valid_after, valid_before, key_type: word.to_owned(), key })
    }
}

fn parse_time(quoted: &str) -> Result<String, InvalidSigner> {
    let time = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(quoted);
    let digits = time.strip_suffix('Z').unwrap_or(time);
    let is_time = matches!(digits.len(), 8 | 12 | 14) && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_time { Ok(time.to_owned()) } else { Err(InvalidSigner::Option) }
}

/// A line of an allowed-signers file, for git's signatures only.
impl fmt::Display for AllowedSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} namespaces=\"git\"", self.name)?;
        for (option, time) in [("valid-after", &self.valid_after), ("valid-before", &self.valid_before)] {
            if let Some(time) = time {
                write!(f, ",{option}=\"{time}\"")?;
            }
        }
        write!(f, " {} {}", self.key_type, STANDARD.encode(&self.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJf0sFzdVMCbFfP3dW9QO1Cq6Yj3C2rBrU0cS8cVJ7mH";

    #[test]
    fn lines_are_parsed_and_written_for_one_namespace() {
        let signer: AllowedSigner = format!("alice@example.com {KEY} a comment").parse().unwrap();
        assert_eq!(signer.to_string(), format!("alice@example.com namespaces=\"git\" {KEY}"));
        let signer: AllowedSigner = format!("a valid-before=\"20300101Z\" {KEY}").parse().unwrap();
        assert_eq!(signer.to_string(), format!("a namespaces=\"git\",valid-before=\"20300101Z\" {KEY}"));
    }

    #[test]
    fn lines_that_allow_more_are_rejected() {
        use InvalidSigner::*;
        for (line, reason) in [
            (format!("* {KEY}"), Name),
            (format!("*@example.com {KEY}"), Name),
            (format!("a,b {KEY}"), Name),
            (KEY.to_owned(), Name),
            (format!("a cert-authority {KEY}"), Key),
            (format!("a namespaces=\"file\" {KEY}"), Option),
            (format!("a valid-before=\"x\" {KEY}"), Option),
            (format!("a {KEY}\nb {KEY}"), Syntax),
            (format!("a {}", KEY.replace("ssh-ed25519", "ssh-dss")), Key),
            (format!("a {}", KEY.replace("ssh-ed25519", "ssh-rsa")), Key),
            ("a ssh-ed25519 !".to_owned(), Key),
            ("a".to_owned(), Syntax),
            (String::new(), Syntax),
        ] {
            assert_eq!(line.parse::<AllowedSigner>(), Err(reason), "{line}");
        }
    }
}
