//! The image of the tests, in a store that all engines read. It is made once for each content and kept in the target
//! folder, because importing it takes an engine more processor time than anything else at its start.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::engine::{IMAGE, INSTALL, podman, run};

const FOLDERS: [&str; 7] = ["bin", "tmp", "etc", "proc", "dev", "sys", "var/tmp"];
/// The programs of busybox that the tests' scripts use.
const PROGRAMS: &str = "sh cat echo sleep id ls touch head dd env kill mount ps seq wget grep tail true ulimit mkdir mv ip nc httpd";
const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\n";

/// Returns the folder of the store; creates it if no test has created it yet.
pub fn shared() -> PathBuf {
    let busybox = busybox();
    let mut hasher = DefaultHasher::new();
    (fs::read(&busybox).unwrap(), FOLDERS, PROGRAMS, PASSWD, IMAGE).hash(&mut hasher);
    let name = format!("container-images-{:016x}", hasher.finish());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let store = target.join(&name);
    if !store.exists() {
        let lock = File::create(target.join(format!("{name}.lock"))).unwrap();
        lock.lock().unwrap();
        // Another test may have created it meanwhile.
        if !store.exists() {
            let folder = tempfile::Builder::new().prefix("gr-").tempdir_in(target).unwrap();
            crate::engine::configure(folder.path(), None);
            import(folder.path());
            // Complete or absent, also if this test is killed.
            fs::rename(folder.path().join("storage"), &store).unwrap();
        }
    }
    store
}

/// Imports the image into the engine's own store.
pub fn import(folder: &Path) {
    let root = folder.join("root");
    for part in FOLDERS {
        fs::create_dir_all(root.join(part)).unwrap();
    }
    fs::copy(busybox(), root.join("bin/busybox")).unwrap();
    for name in PROGRAMS.split(' ') {
        symlink("busybox", root.join("bin").join(name)).unwrap();
    }
    fs::write(root.join("etc/passwd"), PASSWD).unwrap();
    let archive = folder.join("image.tar");
    let packed = Command::new("tar").arg("-cf").arg(&archive).arg("-C").arg(&root).arg(".").status();
    assert!(packed.unwrap().success());
    run(podman(folder, None).arg("import").arg(&archive).arg(IMAGE));
    fs::remove_file(archive).unwrap();
    fs::remove_dir_all(root).unwrap();
}

fn busybox() -> PathBuf {
    let places = ["/bin/busybox", "/usr/bin/busybox"].map(PathBuf::from);
    let found = places.into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("a static busybox is missing: {INSTALL}"))
}
