use std::os::unix::fs::symlink;
use std::time::Duration;

use greenroom_domain::step::{FileMode, StepFile, content_digest};
use nix::sys::stat::Mode;

use super::*;

/// Returns the archive of a step with this text, and its digest.
fn archive(text: &str) -> (Vec<u8>, StepDigest) {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(text.len() as u64);
    builder.append_data(&mut header, "step.yaml", text.as_bytes()).unwrap();
    let digest = content_digest(&[StepFile::new("step.yaml", FileMode::Regular, text.as_bytes())]);
    (builder.into_inner().unwrap(), digest.unwrap())
}

/// Keeps two archives of the size of [`archive`] at most.
fn archives(folder: &Path) -> StepArchives {
    let max_bytes = 2 * archive("a").0.len() as u64;
    let archives = StepArchives { max_bytes, ..StepArchives::new(folder.join("steps")) };
    archives.sweep().unwrap();
    archives
}

/// Sets when an archive was last used: long ago, plus these seconds.
fn set_used(archives: &StepArchives, digest: &StepDigest, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    File::open(archives.path(digest)).unwrap().set_modified(time).unwrap();
}

#[test]
fn what_is_kept_is_verified_at_each_use() {
    let folder = tempfile::tempdir().unwrap();
    let archives = archives(folder.path());
    let (bytes, digest) = archive("right");
    assert!(archives.read(&digest).is_none());
    archives.keep(&digest, &bytes).unwrap();
    assert!(archives.read(&digest).is_some());
    let path = archives.path(&digest);
    let outside = folder.path().join("outside.tar");
    fs::write(&outside, &bytes).unwrap();
    type Tamper<'a> = &'a dyn Fn(&Path);
    let tampers: [Tamper<'_>; 5] = [
        &|path| fs::write(path, archive("wrong").0).unwrap(),
        &|path| fs::write(path, "").unwrap(),
        &|path| symlink(&outside, path).unwrap(),
        &|path| fs::create_dir_all(path.join("sub")).unwrap(),
        // Nothing writes into the pipe.
        &|path| nix::unistd::mkfifo(path, Mode::S_IRWXU).unwrap(),
    ];
    for tamper in tampers {
        let _ = fs::remove_file(&path);
        tamper(&path);
        assert!(archives.read(&digest).is_none());
        assert!(fs::symlink_metadata(&path).is_err(), "it was removed");
    }
    assert!(outside.exists());
}

#[test]
fn the_least_recently_used_archives_that_no_job_uses_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let archives = archives(folder.path());
    let made = ["a", "b", "c", "d"].map(archive);
    let [a, b, c, d] = made.each_ref().map(|(_, digest)| digest);
    let keep = |index: usize| archives.keep(&made[index].1, &made[index].0).unwrap();
    let kept = || [a, b, c, d].map(|digest| archives.path(digest).exists());
    keep(0);
    keep(1);
    set_used(&archives, a, 1);
    set_used(&archives, b, 2);
    // A use counts.
    assert!(archives.read(a).is_some());
    keep(2);
    assert_eq!(kept(), [true, false, true, false]);
    // Two jobs use `a`, and one of them has ended.
    let (held, other) = (archives.hold([a.clone()]), archives.hold([a.clone(), c.clone()]));
    drop(other);
    set_used(&archives, a, 1);
    keep(3);
    assert_eq!(kept(), [true, false, false, true]);
    drop(held);
    set_used(&archives, a, 1);
    keep(1);
    assert_eq!(kept(), [false, true, false, true]);
}

#[test]
fn a_new_process_removes_only_what_was_left_half_written() {
    let folder = tempfile::tempdir().unwrap();
    let kept = archives(folder.path());
    let (bytes, digest) = archive("a");
    kept.keep(&digest, &bytes).unwrap();
    fs::write(folder.path().join("steps/12.unfinished"), "x").unwrap();
    let again = archives(folder.path());
    assert!(again.read(&digest).is_some());
    assert_eq!(fs::read_dir(folder.path().join("steps")).unwrap().count(), 1);
}
