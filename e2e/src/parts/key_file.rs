//! The file with the master keys of secrets that a server of the harness reads.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The server's setting.
pub(crate) const KEY_FILE_VARIABLE: &str = "GREENROOM_SECRETS_KEY_FILE";

/// Returns the line of a new, random key.
pub(crate) fn new_key(id: &str) -> String {
    format!("{id}:{}", STANDARD.encode(rand::random::<[u8; 32]>()))
}

/// Writes the keys, the active one first, to a file that only this user can read.
pub(crate) fn write_key_file(path: &Path, keys: &[String]) -> anyhow::Result<()> {
    let mut file = std::fs::File::options().create(true).write(true).truncate(true).mode(0o600).open(path)?;
    Ok(file.write_all((keys.join("\n") + "\n").as_bytes())?)
}
