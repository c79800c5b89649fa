//! A container engine for one test, with one image made of busybox (`image_store`), on a socket in a temporary folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use greenroom_runner::backend::container::{Container, Isolation};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::image_store;
use crate::support::eventually;
use crate::support::test_runner::TestRunner;

pub const IMAGE: &str = "localhost/greenroom-test:1";
/// In a sandbox these limits can't be raised, and no container starts unless they are set.
const ULIMITS: [&str; 2] = ["nofile=4096:4096", "nproc=20000:20000"];

pub struct Engine {
    folder: tempfile::TempDir,
    /// The read-only store of images that it shares with other engines.
    shared_images: Option<PathBuf>,
    service: Child,
}

impl Engine {
    pub async fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("gr-").tempdir().unwrap();
        configure(folder.path(), None);
        Self::start_in(folder, Some(image_store::shared())).await
    }

    /// Starts an engine that pulls from this registry without encryption. The image is in its own store, from which a
    /// test can remove it.
    pub async fn start_with_registry(registry: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("gr-").tempdir().unwrap();
        configure(folder.path(), Some(registry));
        image_store::import(folder.path());
        Self::start_in(folder, None).await
    }

    async fn start_in(folder: tempfile::TempDir, shared_images: Option<PathBuf>) -> Self {
        let socket = folder.path().join("engine.sock");
        let service = podman(folder.path(), shared_images.as_deref())
            .args(["system", "service", "--time=0", &format!("unix://{}", socket.display())])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let engine = Engine { folder, shared_images, service };
        eventually("the engine listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok()).await;
        engine
    }

    /// Returns the processor time that the engine's own process has used.
    pub fn processor_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.service.id())).unwrap();
        // The name of the program, in parentheses, may contain spaces. User and system time follow as the
        // 12th and 13th field after it, in hundredths of a second.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
        Duration::from_millis(ticks * 10)
    }

    /// Returns the folder with everything that the engine stores.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn host(&self) -> String {
        format!("unix://{}", self.folder.path().join("engine.sock").display())
    }

    pub fn podman(&self, arguments: &[&str]) -> String {
        run(self.command().args(arguments))
    }

    fn command(&self) -> Command {
        podman(self.folder.path(), self.shared_images.as_deref())
    }

    /// Returns the ids of all containers.
    pub fn containers(&self) -> Vec<String> {
        self.podman(&["ps", "--all", "--format", "{{.ID}}"]).lines().map(str::to_owned).collect()
    }

    /// Returns the names of all networks; `podman` is the engine's own.
    pub fn networks(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.podman(&["network", "ls", "--format", "{{.Name}}"]).lines().map(str::to_owned).collect();
        names.sort();
        names
    }

    pub async fn backend(&self, work_dir: &Path, change: impl FnOnce(&mut Isolation)) -> Container {
        let mut isolation = Isolation {
            memory_bytes: 128 * 1024 * 1024,
            cpu_thousandths: 1000,
            pids: 64,
            tmp_bytes: 16 * 1024 * 1024,
            ulimits: ULIMITS.map(|limit| limit.parse().unwrap()).to_vec(),
            user: None,
        };
        change(&mut isolation);
        Container::connect(&self.host(), "test-runner", work_dir, &static_entry(), isolation).await.unwrap()
    }

    /// Starts a runner whose steps run in this engine.
    pub async fn runner(&self, port: u16, change: impl FnOnce(&mut Isolation)) -> TestRunner {
        let work_dir = self.folder.path().join("work");
        let backend = self.backend(&work_dir, change).await;
        TestRunner::with(port, |_| backend)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.command().args(["rm", "--all", "--force", "--time=0"]).output();
        if let Ok(id) = i32::try_from(self.service.id()) {
            let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
        }
        let _ = self.service.wait();
        // The engine has to remove its own files, because some are mounted.
        let _ = self.command().args(["system", "reset", "--force"]).output();
    }
}

/// Writes the configuration files of an engine with this folder.
pub fn configure(folder: &Path, registry: Option<&str>) {
    fs::write(
        folder.join("containers.conf"),
        "[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n\
         [containers]\ndefault_ulimits = [\"nofile=4096:4096\", \"nproc=20000:20000\"]\n"
            .to_owned()
            + &networks(folder),
    )
    .unwrap();
    let part = |name: &str| folder.join(name).display().to_string();
    let storage = format!(
        "[storage]\ndriver = \"vfs\"\ngraphroot = \"{}\"\nrunroot = \"{}\"\n",
        part("storage"),
        part("run")
    );
    fs::write(folder.join("storage.conf"), storage).unwrap();
    let registries = registry.map(|host| format!("[[registry]]\nlocation = \"{host}\"\ninsecure = true\n"));
    fs::write(folder.join("registries.conf"), registries.unwrap_or_default()).unwrap();
}

/// Returns the network configuration, with addresses that no other engine of these tests uses.
fn networks(folder: &Path) -> String {
    let path = folder.join("networks");
    fs::create_dir(&path).unwrap();
    let part = 100 + std::process::id() % 100;
    format!(
        "[network]\nnetwork_config_dir = \"{}\"\ndefault_subnet_pools = [{{\"base\" = \"10.{part}.0.0/16\", \"size\" = 24}}]\n",
        path.display()
    )
}

/// Returns a command of the engine with this folder. It ignores the `storage.conf` for what is given here.
pub fn podman(folder: &Path, shared_images: Option<&Path>) -> Command {
    let mut command = Command::new("podman");
    command
        .arg("--root")
        .arg(folder.join("storage"))
        .arg("--runroot")
        .arg(folder.join("run"))
        .arg("--tmpdir")
        .arg(folder.join("tmp"))
        .args([
            "--storage-driver",
            "vfs",
            "--runtime",
            "runc",
            "--cgroup-manager",
            "cgroupfs",
            "--log-level",
            "error",
        ])
        // Files that it leaves in its current folder are removed with the folder.
        .current_dir(folder)
        .env("CONTAINERS_CONF", folder.join("containers.conf"))
        .env("CONTAINERS_STORAGE_CONF", folder.join("storage.conf"))
        .env("CONTAINERS_REGISTRIES_CONF", folder.join("registries.conf"))
        // Whenever a runner connects, the engine searches the lists of all Debian packages for those of its programs,
        // which takes half a second of processor time. Without a list it finds none immediately.
        .env("DPKG_ADMINDIR", folder.join("no-packages"))
        .stdin(Stdio::null());
    if let Some(images) = shared_images {
        command.arg("--storage-opt").arg(format!("vfs.imagestore={}", images.display()));
    }
    command
}

pub fn run(command: &mut Command) -> String {
    let output =
        command.output().unwrap_or_else(|error| panic!("podman could not be run ({error}): {INSTALL}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub const INSTALL: &str = "apt-get install podman runc iptables busybox-static docker-registry";

/// Returns the static entrypoint: the image has no libraries.
fn static_entry() -> PathBuf {
    if let Some(entry) = std::env::var_os("GREENROOM_RUNNER_ENTRY") {
        return entry.into();
    }
    let own = std::env::current_exe().unwrap();
    let target = own.ancestors().nth(3).unwrap();
    let entry = target.join(format!("{}-unknown-linux-gnu/release/greenroom-entry", std::env::consts::ARCH));
    assert!(entry.is_file(), "{} is missing: run `cargo xtask entry`", entry.display());
    entry
}
