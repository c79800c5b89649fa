//! A container engine for one test, with one image made of busybox, on a socket in a temporary folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use greenroom_runner::backend::container::{Container, Isolation};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::eventually;
use crate::support::test_runner::TestRunner;

pub const IMAGE: &str = "localhost/greenroom-test:1";
/// In a sandbox these limits can't be raised, and no container starts unless they are set.
const ULIMITS: [&str; 2] = ["nofile=4096:4096", "nproc=20000:20000"];

pub struct Engine {
    folder: tempfile::TempDir,
    service: Child,
}

impl Engine {
    pub async fn start() -> Self {
        Self::start_with(None).await
    }

    /// Starts an engine that pulls from this registry without encryption.
    pub async fn start_with(registry: Option<&str>) -> Self {
        let folder = tempfile::Builder::new().prefix("gr-").tempdir().unwrap();
        fs::write(
            folder.path().join("containers.conf"),
            "[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n\
             [containers]\ndefault_ulimits = [\"nofile=4096:4096\", \"nproc=20000:20000\"]\n"
                .to_owned()
                + &networks(folder.path()),
        )
        .unwrap();
        let part = |name: &str| folder.path().join(name).display().to_string();
        let storage = format!(
            "[storage]\ndriver = \"vfs\"\ngraphroot = \"{}\"\nrunroot = \"{}\"\n",
            part("storage"),
            part("run")
        );
        fs::write(folder.path().join("storage.conf"), storage).unwrap();
        let registries =
            registry.map(|host| format!("[[registry]]\nlocation = \"{host}\"\ninsecure = true\n"));
        fs::write(folder.path().join("registries.conf"), registries.unwrap_or_default()).unwrap();
        create_image(folder.path());
        let socket = folder.path().join("engine.sock");
        let service = podman(folder.path())
            .args(["system", "service", "--time=0", &format!("unix://{}", socket.display())])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let engine = Engine { folder, service };
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
        run(podman(self.folder.path()).args(arguments))
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
        let _ = podman(self.folder.path()).args(["rm", "--all", "--force", "--time=0"]).output();
        if let Ok(id) = i32::try_from(self.service.id()) {
            let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
        }
        let _ = self.service.wait();
        // The engine has to remove its own files, because some are mounted.
        let _ = podman(self.folder.path()).args(["system", "reset", "--force"]).output();
    }
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

fn podman(folder: &Path) -> Command {
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
        .stdin(Stdio::null());
    command
}

fn run(command: &mut Command) -> String {
    let output =
        command.output().unwrap_or_else(|error| panic!("podman could not be run ({error}): {INSTALL}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub const INSTALL: &str = "apt-get install podman runc iptables busybox-static docker-registry";

fn create_image(folder: &Path) {
    let busybox =
        ["/bin/busybox", "/usr/bin/busybox"].map(PathBuf::from).into_iter().find(|path| path.is_file());
    let busybox = busybox.unwrap_or_else(|| panic!("a static busybox is missing: {INSTALL}"));
    let root = folder.join("root");
    for part in ["bin", "tmp", "etc", "proc", "dev", "sys", "var/tmp"] {
        fs::create_dir_all(root.join(part)).unwrap();
    }
    fs::copy(busybox, root.join("bin/busybox")).unwrap();
    for name in "sh cat echo sleep id ls touch head dd env kill mount ps seq wget grep tail true ulimit mkdir mv ip nc httpd"
        .split(' ')
    {
        symlink("busybox", root.join("bin").join(name)).unwrap();
    }
    fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").unwrap();
    let archive = folder.join("image.tar");
    let packed = Command::new("tar").arg("-cf").arg(&archive).arg("-C").arg(&root).arg(".").status();
    assert!(packed.unwrap().success());
    run(podman(folder).arg("import").arg(&archive).arg(IMAGE));
    fs::remove_file(archive).unwrap();
    fs::remove_dir_all(root).unwrap();
}

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
