//! SSH keys, and tags that they sign.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::repository::Repository;

pub struct Keys {
    folder: TempDir,
}

impl Default for Keys {
    fn default() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }
}

impl Keys {
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn create(&self, name: &str) -> PathBuf {
        let path = self.path().join(name);
        let created = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"])
            .arg(&path)
            .status()
            .unwrap();
        assert!(created.success());
        path
    }
}

/// Returns a line of an allowed-signers file for this key.
pub fn signer_line(name: &str, options: &str, key: &Path) -> String {
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    format!("{name} {options} {}", public.trim())
}

/// Creates a tag with a signature of this key, and returns its object.
pub fn sign(repository: &Repository, tag: &str, key: &Path) -> Vec<u8> {
    let key = format!("user.signingkey={}", key.display());
    repository.git(&["-c", "gpg.format=ssh", "-c", &key, "tag", "--sign", "--message", "x", tag]);
    tag_object(repository, tag)
}

/// Creates a tag without a signature, and returns its object.
pub fn annotate(repository: &Repository, tag: &str) -> Vec<u8> {
    repository.git(&["tag", "--annotate", "--message", "x", tag]);
    tag_object(repository, tag)
}

fn tag_object(repository: &Repository, tag: &str) -> Vec<u8> {
    // What the repository prints is trimmed.
    (repository.git(&["cat-file", "tag", tag]) + "\n").into_bytes()
}

/// Makes the tag refer to an object with these bytes.
pub fn replace(repository: &Repository, tag: &str, object: &[u8]) {
    let object = repository.git_with(&["hash-object", "-t", "tag", "-w", "--stdin"], object);
    repository.git(&["update-ref", &format!("refs/tags/{tag}"), &object]);
}

/// Adds a signature for files, instead of one for git.
pub fn sign_as_file(keys: &Keys, key: &Path, object: &[u8]) -> Vec<u8> {
    let payload = keys.path().join("payload");
    std::fs::write(&payload, object).unwrap();
    let made = Command::new("ssh-keygen")
        .args(["-q", "-Y", "sign", "-n", "file", "-f"])
        .args([key, &payload])
        .output()
        .unwrap();
    assert!(made.status.success());
    let signature = std::fs::read(keys.path().join("payload.sig")).unwrap();
    [object, &signature].concat()
}
