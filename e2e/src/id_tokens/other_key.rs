//! A signing key that is not Greenroom's, made with the program openssl: it signs what an attacker would
//! send.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// The id of the key where it is trusted.
pub(super) const KEY_ID: &str = "control";

pub(super) struct OtherKey {
    file: PathBuf,
    /// In base64.
    modulus: String,
}

impl OtherKey {
    pub(super) async fn create(folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join("other-key.pem");
        openssl(&["genrsa", "-out"], &file, &["2048"], b"").await?;
        let printed = openssl(&["rsa", "-noout", "-modulus", "-in"], &file, &[], b"").await?;
        let printed = String::from_utf8(printed)?;
        let modulus = printed.trim().strip_prefix("Modulus=").context("openssl printed no modulus")?;
        Ok(Self { file, modulus: URL_SAFE_NO_PAD.encode(from_hex(modulus)?) })
    }

    /// Returns the JSON Web Key Set with this key.
    pub(super) fn key_set(&self) -> Value {
        let key = json!({
            "kty": "RSA", "use": "sig", "alg": "RS256", "kid": KEY_ID, "n": self.modulus, "e": "AQAB",
        });
        json!({ "keys": [key] })
    }

    /// Signs a token with this key, whatever key it names.
    pub(super) async fn sign(&self, key_id: &str, claims: &Value) -> anyhow::Result<String> {
        let header = json!({ "alg": "RS256", "typ": "JWT", "kid": key_id });
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(claims));
        let signature = openssl(&["dgst", "-sha256", "-sign"], &self.file, &[], signed.as_bytes()).await?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

/// Runs openssl on a file and returns its output.
async fn openssl(before: &[&str], file: &Path, after: &[&str], input: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut command = Command::new("openssl");
    command.args(before).arg(file).args(after);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().context("openssl is needed: apt-get install openssl")?;
    if let Some(mut stdin) = child.stdin.take().filter(|_| !input.is_empty()) {
        stdin.write_all(input).await?;
    }
    let output = child.wait_with_output().await?;
    if !output.status.success() {
        bail!("openssl {}: {}", before.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}

fn from_hex(text: &str) -> anyhow::Result<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).context("not a hexadecimal number");
    let byte = |pair: &[u8]| {
        let value = pair.iter().try_fold(0, |value, &byte| anyhow::Ok(value * 16 + digit(byte)?))?;
        Ok(u8::try_from(value)?)
    };
    text.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_numbers_are_read() {
        assert_eq!(from_hex("00ffA5").unwrap(), [0, 255, 165]);
        assert!(from_hex("0x").is_err());
    }
}
