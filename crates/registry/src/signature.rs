//! Verifies the SSH signature of an annotated tag, by `ssh-keygen`.

use std::io;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::time::Instant;

use crate::program::{ProcessLimits, RunError, run};
use crate::tag_object::{TagObject, TagSignature};
use greenroom_domain::step::StepTag;
use greenroom_domain::step_registry::AllowedSigner;

const NAMESPACE: &[u8] = b"git";
const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_OUTPUT_BYTES: usize = 4096;
const LIMITS: ProcessLimits = ProcessLimits { data_bytes: 48 << 20, file_bytes: 1 << 20, cpu_seconds: 5 };
const MAGIC: &[u8] = b"SSHSIG";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";

/// Who has signed a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// The name of the allowed signer.
    pub name: String,
}

/// Why a signature does not count. The text can be shown to users.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    #[error("the tag has no signature: create it by `git tag -s` with gpg.format=ssh")]
    Missing,
    #[error("the signature of the tag is not of an SSH key: create it by `git tag -s` with gpg.format=ssh")]
    NotSsh,
    #[error("the tag object, or its signature, is malformed")]
    Malformed,
    #[error("the signed tag object is for another tag")]
    OtherTag,
    #[error("the signature is for another purpose (a namespace other than `git`)")]
    Namespace,
    #[error("the key of the signature is not one of the registry's signers")]
    UnknownKey,
    #[error("the key of the signature has expired, or is not valid yet")]
    NotValidNow,
    #[error("the signature is not valid: it is for other content, or damaged")]
    Invalid,
    #[error("signatures can't be verified on this machine: are ssh-keygen and prlimit installed?")]
    Program(#[source] io::Error),
    #[error("verifying the signature took too long")]
    Timeout,
}

/// Verifies that one of the allowed signers has signed this tag object, for this tag. A key's validity is that of the
/// present moment, because the time in a tag object is chosen by the one who has the key. `folder` is where a temporary
/// folder is created.
pub async fn verify_signature(
    tag_object: &[u8],
    tag: &StepTag,
    signers: &[AllowedSigner],
    folder: &Path,
) -> Result<Signer, SignatureError> {
    let parsed = TagObject::parse(tag_object).ok_or(SignatureError::Malformed)?;
    let (payload, armored) = match parsed.signature {
        TagSignature::Ssh { payload, armored } => (payload, armored),
        TagSignature::None => return Err(SignatureError::Missing),
        TagSignature::Other => return Err(SignatureError::NotSsh),
    };
    if parsed.name != tag.to_string() {
        return Err(SignatureError::OtherTag);
    }
    let envelope = Envelope::parse(armored).ok_or(SignatureError::Malformed)?;
    if envelope.namespace != NAMESPACE {
        return Err(SignatureError::Namespace);
    }
    // A key may be listed several times, with other names or times.
    let mut result = Err(SignatureError::UnknownKey);
    for signer in signers.iter().filter(|signer| is_key_of(signer, &envelope.key)) {
        result = verify(payload, armored, signer, folder).await;
        if result.is_ok() {
            break;
        }
    }
    result
}

async fn verify(
    payload: &[u8],
    armored: &[u8],
    signer: &AllowedSigner,
    folder: &Path,
) -> Result<Signer, SignatureError> {
    let folder =
        tempfile::Builder::new().prefix("signature-").tempdir_in(folder).map_err(SignatureError::Program)?;
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes);
    write("signers", line(signer).as_bytes()).map_err(SignatureError::Program)?;
    write("signature", armored).map_err(SignatureError::Program)?;
    let mut command = LIMITS.command("ssh-keygen");
    command
        .args(["-Y", "verify", "-f", "signers", "-I", signer.name(), "-n", "git", "-s", "signature"])
        .env("TZ", "UTC")
        .current_dir(folder.path());
    let output = run(command, payload, MAX_OUTPUT_BYTES, Instant::now() + TIMEOUT).await;
    let output = output.map_err(|error| match error {
        RunError::Start(error) => SignatureError::Program(error),
        RunError::Timeout => SignatureError::Timeout,
        RunError::TooMuchOutput => SignatureError::Invalid,
    })?;
    if output.status.success() {
        return Ok(Signer { name: signer.name().to_owned() });
    }
    if matches!(output.status.code(), Some(126 | 127)) {
        return Err(SignatureError::Program(io::Error::from(io::ErrorKind::NotFound)));
    }
    let is_out_of_time = ["has expired", "not yet valid"].iter().any(|text| output.stderr.contains(text));
    Err(if is_out_of_time { SignatureError::NotValidNow } else { SignatureError::Invalid })
}

fn is_key_of(signer: &AllowedSigner, key: &[u8]) -> bool {
    STANDARD.decode(signer.key()).is_ok_and(|decoded| decoded == key)
}

/// Returns a line of an allowed-signers file, for git's signatures only.
fn line(signer: &AllowedSigner) -> String {
    let times: String = signer.options().map(|(name, time)| format!(",{name}=\"{time}\"")).collect();
    format!("{} namespaces=\"git\"{times} {} {}\n", signer.name(), signer.key_type(), signer.key())
}

/// The parts of a signature that decide which key is used (PROTOCOL.sshsig of OpenSSH). They are not authenticated
/// before `ssh-keygen` has verified the signature.
struct Envelope {
    key: Vec<u8>,
    namespace: Vec<u8>,
}

impl Envelope {
    fn parse(armored: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(armored).ok()?.trim_end();
        let body = text.strip_prefix(BEGIN)?.strip_suffix(END)?;
        let body: String = body.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
        let decoded = STANDARD.decode(body).ok()?;
        let rest = decoded.strip_prefix(MAGIC)?;
        let (version, rest) = rest.split_first_chunk::<4>()?;
        if u32::from_be_bytes(*version) != 1 {
            return None;
        }
        let (key, rest) = split_string(rest)?;
        let (namespace, _) = split_string(rest)?;
        Some(Self { key: key.to_vec(), namespace: namespace.to_vec() })
    }
}

/// Splits off a string of SSH, which begins with its length.
fn split_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_for_one_namespace() {
        let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
        for (signer, expected) in [
            (
                format!("alice@example.com {key} a comment"),
                format!("alice@example.com namespaces=\"git\" {key}\n"),
            ),
            (
                format!("a valid-before=20300101Z,valid-after=\"20260101\" {key}"),
                format!("a namespaces=\"git\",valid-before=\"20300101Z\",valid-after=\"20260101\" {key}\n"),
            ),
        ] {
            assert_eq!(line(&AllowedSigner::new(&signer).unwrap()), expected);
        }
    }
}
