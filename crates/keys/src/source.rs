//! Where the master keys come from: a file, or a command that prints them. Both are read when the process
//! starts, and again when [`Keys::reload`] is called.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;
use zeroize::Zeroizing;

use crate::key_ring::{InvalidKeyRing, KeyRing};

/// More than any list of keys needs.
const MAX_BYTES: u64 = 64 * 1024;
/// How long the command may take: it may call a key service over the network.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// The permissions that a file with keys must not have: any for users other than its owner and group.
const FORBIDDEN_MODE: u32 = 0o007;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    File(PathBuf),
    /// A command for `/bin/sh` that prints the keys.
    Command(String),
}

/// Why the keys could not be loaded. It contains nothing of what was read.
#[derive(Debug, thiserror::Error)]
pub enum NotLoaded {
    #[error("can't read {0}")]
    File(PathBuf, #[source] std::io::Error),
    #[error("{0} can be accessed by every user of this machine; run `chmod 600` on it")]
    Permissions(PathBuf),
    #[error("can't run the command that prints the keys")]
    Command(#[source] std::io::Error),
    #[error("the command that prints the keys ended with {0}")]
    Failed(std::process::ExitStatus),
    #[error("the command that prints the keys did not end within {} s", COMMAND_TIMEOUT.as_secs())]
    TimedOut,
    #[error("the keys have more than {MAX_BYTES} bytes, or are not text")]
    NotText,
    #[error("the list of master keys is invalid: {0}")]
    Invalid(#[from] InvalidKeyRing),
}

impl KeySource {
    pub async fn read(&self) -> Result<KeyRing, NotLoaded> {
        let bytes = match self {
            Self::File(path) => read_file(path)?,
            Self::Command(command) => {
                timeout(COMMAND_TIMEOUT, run(command)).await.map_err(|_| NotLoaded::TimedOut)??
            }
        };
        let text = std::str::from_utf8(&bytes).ok().filter(|_| bytes.len() as u64 <= MAX_BYTES);
        Ok(KeyRing::parse(text.ok_or(NotLoaded::NotText)?)?)
    }
}

fn read_file(path: &PathBuf) -> Result<Zeroizing<Vec<u8>>, NotLoaded> {
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;

    let failed = |error| NotLoaded::File(path.clone(), error);
    let file = std::fs::File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode();
    if mode & FORBIDDEN_MODE != 0 {
        return Err(NotLoaded::Permissions(path.clone()));
    }
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

async fn run(command: &str) -> Result<Zeroizing<Vec<u8>>, NotLoaded> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(NotLoaded::Command)?;
    let mut bytes = Zeroizing::new(Vec::new());
    if let Some(output) = child.stdout.take() {
        output.take(MAX_BYTES + 1).read_to_end(&mut bytes).await.map_err(NotLoaded::Command)?;
    }
    let status = child.wait().await.map_err(NotLoaded::Command)?;
    if status.success() { Ok(bytes) } else { Err(NotLoaded::Failed(status)) }
}

/// The master keys of a process, which can be read again while it runs. Without a source there are none.
#[derive(Clone, Default)]
pub struct Keys {
    source: Option<KeySource>,
    ring: Arc<RwLock<Option<Arc<KeyRing>>>>,
}

impl Keys {
    /// Reads the keys. A source that can't be read is an error, so that a mistake in the configuration is
    /// noticed at the start.
    pub async fn load(source: Option<KeySource>) -> Result<Self, NotLoaded> {
        let keys = Self { source, ring: Arc::default() };
        keys.reload().await?;
        Ok(keys)
    }

    /// Reads the keys again. If that fails, those that were read before stay in use. Returns the id of the
    /// active key, or `None` without a source.
    pub async fn reload(&self) -> Result<Option<String>, NotLoaded> {
        let Some(source) = &self.source else { return Ok(None) };
        let ring = source.read().await?;
        let active = ring.active_id().to_owned();
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(ring));
        Ok(Some(active))
    }

    /// Returns the keys; `None` if this process has none.
    pub fn ring(&self) -> Option<Arc<KeyRing>> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

    const OLD: &str = "old:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n";
    const NEW: &str = "new:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=\n";

    fn write(path: &Path, text: &str, mode: u32) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn active(keys: &Keys) -> Option<String> {
        keys.ring().map(|ring| ring.active_id().to_owned())
    }

    #[tokio::test]
    async fn a_file_is_read_again_and_a_broken_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let source = Some(KeySource::File(path.clone()));
        assert!(matches!(Keys::load(source.clone()).await, Err(NotLoaded::File(..))));
        write(&path, OLD, 0o600);
        let keys = Keys::load(source).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(active(&keys).as_deref(), Some("old"));
        write(&path, &format!("{NEW}{OLD}"), 0o600);
        assert_eq!(keys.reload().await.unwrap().as_deref(), Some("new"));
        write(&path, "nonsense", 0o600);
        let error = keys.reload().await.unwrap_err();
        assert!(matches!(error, NotLoaded::Invalid(InvalidKeyRing::Line(1))));
        assert!(!error.to_string().contains("nonsense"));
        assert_eq!(active(&keys).as_deref(), Some("new"));
    }

    #[tokio::test]
    async fn a_file_that_every_user_can_read_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        for (mode, rejected) in [(0o600, false), (0o400, false), (0o440, false), (0o644, true), (0o602, true)]
        {
            write(&path, OLD, mode);
            let read = KeySource::File(path.clone()).read().await;
            assert_eq!(matches!(read, Err(NotLoaded::Permissions(_))), rejected, "{mode:o}");
        }
    }

    #[tokio::test]
    async fn a_command_prints_the_keys_and_its_failure_is_an_error() {
        let run = |command: String| async move { KeySource::Command(command).read().await };
        let ring = run(format!("printf %s '{NEW}'; printf %s '{OLD}'")).await;
        assert_eq!(ring.unwrap_or_else(|error| panic!("{error}")).active_id(), "new");
        assert!(matches!(run(format!("printf %s '{OLD}'; exit 3")).await, Err(NotLoaded::Failed(_))));
        assert!(matches!(run("true".to_owned()).await, Err(NotLoaded::Invalid(InvalidKeyRing::Empty))));
        assert!(run("cat /dev/zero".to_owned()).await.is_err());
    }

    #[tokio::test]
    async fn without_a_source_there_are_no_keys() {
        let keys = Keys::load(None).await.unwrap_or_else(|error| panic!("{error}"));
        assert!(keys.ring().is_none());
        assert_eq!(keys.reload().await.unwrap(), None);
    }
}
