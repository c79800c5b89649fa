//! The harness's own container engine: Podman on a socket in a temporary folder, with one image, of busybox.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::process::{Child, Command};

use crate::parts::signal;

/// The image name in steps.
pub(crate) const IMAGE: &str = "localhost/greenroom-test:1";
const INSTALL: &str = "apt-get install podman runc iptables busybox-static (dev/stack install does that)";
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Sandboxes can neither raise these limits nor start a container without them.
pub(crate) const ULIMITS: &str = "nofile=4096:4096,nproc=20000:20000";
const SETTINGS: &str = r#"[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=20000:20000"]
"#;
const PROGRAMS: &str = "sh cat echo sleep id ls touch head dd env kill mount ps seq wget grep tail true mkdir sha256sum test ip cut date";

/// How the engine stores images and containers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Storage {
    /// Works everywhere. Each container is a copy of its image.
    Copies,
    /// For large images. Needs a kernel and a file system that allow it.
    Overlay,
}

impl Storage {
    const fn driver(self) -> &'static str {
        match self {
            Self::Copies => "vfs",
            Self::Overlay => "overlay",
        }
    }
}

pub(crate) struct Containers {
    folder: Folder,
    storage: Storage,
    service: Child,
}

/// Short, because the length of a socket's path is limited. It is removed whatever happens to the engine.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Containers {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        Self::start_with(None).await
    }

    /// Starts an engine that connects to this registry by plain http.
    pub(crate) async fn start_with(registry: Option<&str>) -> anyhow::Result<Self> {
        Self::start_on(Storage::Copies, registry).await
    }

    pub(crate) async fn start_on(kind: Storage, registry: Option<&str>) -> anyhow::Result<Self> {
        let name = format!("gr-{}-{:06x}", std::process::id(), rand::random_range(0..0x100_0000));
        let folder = Folder(std::env::temp_dir().join(name));
        let path = &folder.0;
        std::fs::create_dir_all(path)?;
        let networks = path.join("networks");
        std::fs::create_dir_all(&networks)?;
        let settings = format!("{SETTINGS}[network]\nnetwork_config_dir = {networks:?}\n");
        std::fs::write(path.join("containers.conf"), settings)?;
        let (storage, run) = (path.join("storage"), path.join("run"));
        let locations = format!("graphroot = {storage:?}\nrunroot = {run:?}\n");
        std::fs::write(
            path.join("storage.conf"),
            format!("[storage]\ndriver = \"{}\"\n{locations}", kind.driver()),
        )?;
        let registries =
            registry.map(|host| format!("[[registry]]\nlocation = \"{host}\"\ninsecure = true\n"));
        std::fs::write(path.join("registries.conf"), registries.unwrap_or_default())?;
        make_image(path, kind).await?;
        let socket = path.join("engine.sock");
        let mut service = podman(path, kind, &["setpriv", "--pdeathsig=TERM"]);
        // When a container exceeds its memory, its monitor writes a file to the working folder.
        service.current_dir(path);
        service.args(["system", "service", "--time=0"]).arg(format!("unix://{}", socket.display()));
        let service = service.stdout(Stdio::null()).spawn().context(INSTALL)?;
        let engine = Self { folder, storage: kind, service };
        let started = Instant::now();
        while tokio::net::UnixStream::connect(&socket).await.is_err() {
            if started.elapsed() > START_TIMEOUT {
                bail!("podman did not listen within {START_TIMEOUT:?}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(engine)
    }

    /// The value for `--docker-host`.
    pub(crate) fn host(&self) -> String {
        format!("unix://{}", self.folder.0.join("engine.sock").display())
    }

    /// The engine's folder, with its storage.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// Runs a podman command with the same storage as the engine.
    pub(crate) fn podman(&self) -> Command {
        podman(&self.folder.0, self.storage, &[])
    }

    /// Runs a podman command to its end, and returns its output.
    pub(crate) async fn run(&self, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
        run(self.podman().args(arguments)).await
    }

    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        let remove = podman(&self.folder.0, self.storage, &[])
            .args(["rm", "--all", "--force", "--time=0"])
            .output()
            .await;
        if let Ok(pid) = signal::pid(&self.service) {
            signal::send("TERM", pid).await?;
        }
        self.service.wait().await?;
        // The engine has to remove its own files: some are mounted.
        let reset =
            podman(&self.folder.0, self.storage, &[]).args(["system", "reset", "--force"]).output().await;
        let _ = (remove?, reset?);
        Ok(())
    }
}

/// Uses dedicated storage and settings, independent of those of this machine.
fn podman(folder: &Path, storage: Storage, before: &[&str]) -> Command {
    let mut arguments = before.iter().copied().chain(["podman"]);
    let mut command = Command::new(arguments.next().unwrap_or("podman"));
    command
        .args(arguments)
        .arg("--root")
        .arg(folder.join("storage"))
        .arg("--runroot")
        .arg(folder.join("run"))
        .arg("--tmpdir")
        .arg(folder.join("tmp"))
        .args(["--storage-driver", storage.driver(), "--runtime", "runc", "--cgroup-manager", "cgroupfs"])
        .args(["--log-level", "error"])
        .env("CONTAINERS_CONF", folder.join("containers.conf"))
        .env("CONTAINERS_STORAGE_CONF", folder.join("storage.conf"))
        .env("CONTAINERS_REGISTRIES_CONF", folder.join("registries.conf"))
        // Whenever a runner connects, the engine searches the lists of all Debian packages for those of its programs,
        // which takes half a second of processor time. Without a list it finds none immediately.
        .env("DPKG_ADMINDIR", folder.join("no-packages"))
        .stdin(Stdio::null());
    command
}

async fn make_image(folder: &Path, storage: Storage) -> anyhow::Result<()> {
    let locations = ["/bin/busybox", "/usr/bin/busybox"].map(PathBuf::from);
    let busybox = locations.into_iter().find(|path| path.is_file());
    let busybox = busybox.with_context(|| format!("a static busybox is missing: {INSTALL}"))?;
    let root = folder.join("root");
    for part in ["bin", "tmp", "etc", "proc", "dev", "sys"] {
        std::fs::create_dir_all(root.join(part))?;
    }
    std::fs::copy(busybox, root.join("bin/busybox"))?;
    for name in PROGRAMS.split(' ') {
        symlink("busybox", root.join("bin").join(name))?;
    }
    std::fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n")?;
    let archive = folder.join("image.tar");
    run(Command::new("tar").arg("-cf").arg(&archive).arg("-C").arg(&root).arg(".")).await?;
    run(podman(folder, storage, &[]).arg("import").arg(&archive).arg(IMAGE)).await?;
    std::fs::remove_file(archive)?;
    Ok(std::fs::remove_dir_all(root)?)
}

async fn run(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output = command.output().await.with_context(|| format!("containers are missing: {INSTALL}"))?;
    if !output.status.success() {
        bail!("{:?}: {}", command.as_std(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}
