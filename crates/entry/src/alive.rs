//! The file by which the runner shows that it is there. Time is the monotonic clock's (that is what `Instant` reads on
//! Linux), so that a clock that is set neither kills a step nor keeps it.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The runner replaces the file by renaming, so it is never missing; two looks in a row, in case a shared file system
/// shows a rename in two parts.
const MISSING_LOOKS: u32 = 2;

pub(crate) struct AliveFile {
    path: PathBuf,
    silence: Duration,
    /// As last read; `None` before it could be read for the first time.
    content: Option<Vec<u8>>,
    /// When it was last seen to change; the beginning, if it was not.
    changed: Instant,
    has_changed: bool,
    missing: u32,
}

impl AliveFile {
    pub(crate) fn new(path: PathBuf, silence: Duration, now: Instant) -> Self {
        AliveFile { path, silence, content: None, changed: now, has_changed: false, missing: 0 }
    }

    /// Whether the file has changed since the first look: the runner held the job's lease after this process had started.
    pub(crate) fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// Looks at the file; whether nobody answers for the step any more: the file has stayed the same for too long, or
    /// was removed, as a runner does with what its former life has left.
    pub(crate) fn is_silent(&mut self, now: Instant) -> bool {
        match fs::read(&self.path) {
            Ok(content) => {
                self.missing = 0;
                if self.content.as_ref() != Some(&content) {
                    self.has_changed = self.content.is_some();
                    self.content = Some(content);
                    self.changed = now;
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => self.missing += 1,
            // Not to be read just now is not gone: it counts as unchanged.
            Err(_) => {}
        }
        self.missing >= MISSING_LOOKS || now.duration_since(self.changed) >= self.silence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of its own, removed in the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("greenroom-alive-{}-{name}", std::process::id()));
            fs::write(&path, "1").unwrap();
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    const SILENCE: Duration = Duration::from_secs(20);

    #[test]
    fn a_file_that_changes_is_never_silent() {
        let file = Scratch::new("changes");
        let start = Instant::now();
        let mut alive = AliveFile::new(file.0.clone(), SILENCE, start);
        for second in 0..100 {
            fs::write(&file.0, second.to_string()).unwrap();
            assert!(!alive.is_silent(start + Duration::from_secs(second)), "{second}");
        }
    }

    #[test]
    fn a_file_that_stays_the_same_is_silent_after_the_bound_and_not_before() {
        let file = Scratch::new("same");
        let start = Instant::now();
        let mut alive = AliveFile::new(file.0.clone(), SILENCE, start);
        assert!(!alive.is_silent(start + Duration::from_secs(5)));
        assert!(!alive.is_silent(start + Duration::from_millis(24_999)));
        assert!(alive.is_silent(start + Duration::from_secs(25)));
    }

    #[test]
    fn a_file_that_is_written_again_with_the_same_content_does_not_count() {
        let file = Scratch::new("again");
        let start = Instant::now();
        let mut alive = AliveFile::new(file.0.clone(), SILENCE, start);
        assert!(!alive.is_silent(start));
        fs::write(&file.0, "1").unwrap();
        assert!(alive.is_silent(start + SILENCE));
    }

    #[test]
    fn the_first_look_is_no_change() {
        let file = Scratch::new("first");
        let start = Instant::now();
        let mut alive = AliveFile::new(file.0.clone(), SILENCE, start);
        for _ in 0..2 {
            assert!(!alive.is_silent(start));
            assert!(!alive.has_changed());
        }
        fs::write(&file.0, "2").unwrap();
        for _ in 0..2 {
            assert!(!alive.is_silent(start));
            assert!(alive.has_changed());
        }
    }

    #[test]
    fn a_file_that_was_removed_is_silent_at_the_second_look() {
        let file = Scratch::new("removed");
        let start = Instant::now();
        let mut alive = AliveFile::new(file.0.clone(), SILENCE, start);
        assert!(!alive.is_silent(start));
        fs::remove_file(&file.0).unwrap();
        assert!(!alive.is_silent(start));
        assert!(alive.is_silent(start));
    }
}
