//! The liveness file: the runner changes it periodically while it holds the job's lease. Elapsed time is
//! measured with the monotonic clock (`Instant` on Linux), so that setting the system clock neither kills a
//! step nor keeps it running.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How many reads in a row have to find no file before it counts as removed. The runner replaces the file by
/// renaming, so it is never missing on a local file system, but a shared one may show a rename in two parts.
const MAX_MISSING_READS: u32 = 2;

pub(crate) struct LivenessFile {
    path: PathBuf,
    silence: Duration,
    /// The content as last read; `None` before the first successful read.
    content: Option<Vec<u8>>,
    /// When a read last found new content; the start time before the first one.
    changed_at: Instant,
    has_changed: bool,
    missing_reads: u32,
}

impl LivenessFile {
    pub(crate) fn new(path: PathBuf, silence: Duration, now: Instant) -> Self {
        LivenessFile { path, silence, content: None, changed_at: now, has_changed: false, missing_reads: 0 }
    }

    /// Returns whether the file has changed since the first read. If so, the runner held the job's lease
    /// after this process had started.
    pub(crate) fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// Reads the file and returns whether the runner is considered gone: the file has not changed for the
    /// silence timeout, or it was removed, as a restarted runner does with the files of the process before
    /// it.
    pub(crate) fn is_silent(&mut self, now: Instant) -> bool {
        match fs::read(&self.path) {
            Ok(content) => {
                self.missing_reads = 0;
                if self.content.as_ref() != Some(&content) {
                    self.has_changed = self.content.is_some();
                    self.content = Some(content);
                    self.changed_at = now;
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => self.missing_reads += 1,
            // A file that cannot be read at the moment is not a removed one: it counts as unchanged.
            Err(_) => {}
        }
        self.missing_reads >= MAX_MISSING_READS || now.duration_since(self.changed_at) >= self.silence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A temporary file, removed on drop.
    struct TempFile(PathBuf);

    impl TempFile {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("greenroom-alive-{}-{name}", std::process::id()));
            fs::write(&path, "1").unwrap();
            TempFile(path)
        }
    }

    impl Drop for TempFile {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    const SILENCE: Duration = Duration::from_secs(20);

    #[test]
    fn a_file_that_changes_is_never_silent() {
        let file = TempFile::new("changes");
        let start = Instant::now();
        let mut liveness = LivenessFile::new(file.0.clone(), SILENCE, start);
        for second in 0..100 {
            fs::write(&file.0, second.to_string()).unwrap();
            assert!(!liveness.is_silent(start + Duration::from_secs(second)), "{second}");
        }
    }

    #[test]
    fn an_unchanged_file_is_silent_after_the_timeout_and_not_before() {
        let file = TempFile::new("same");
        let start = Instant::now();
        let mut liveness = LivenessFile::new(file.0.clone(), SILENCE, start);
        assert!(!liveness.is_silent(start + Duration::from_secs(5)));
        assert!(!liveness.is_silent(start + Duration::from_millis(24_999)));
        assert!(liveness.is_silent(start + Duration::from_secs(25)));
    }

    #[test]
    fn rewriting_the_same_content_is_not_a_change() {
        let file = TempFile::new("again");
        let start = Instant::now();
        let mut liveness = LivenessFile::new(file.0.clone(), SILENCE, start);
        assert!(!liveness.is_silent(start));
        fs::write(&file.0, "1").unwrap();
        assert!(liveness.is_silent(start + SILENCE));
    }

    #[test]
    fn the_first_read_is_not_a_change() {
        let file = TempFile::new("first");
        let start = Instant::now();
        let mut liveness = LivenessFile::new(file.0.clone(), SILENCE, start);
        for _ in 0..2 {
            assert!(!liveness.is_silent(start));
            assert!(!liveness.has_changed());
        }
        fs::write(&file.0, "2").unwrap();
        for _ in 0..2 {
            assert!(!liveness.is_silent(start));
            assert!(liveness.has_changed());
        }
    }

    #[test]
    fn a_removed_file_is_silent_at_the_second_read() {
        let file = TempFile::new("removed");
        let start = Instant::now();
        let mut liveness = LivenessFile::new(file.0.clone(), SILENCE, start);
        assert!(!liveness.is_silent(start));
        fs::remove_file(&file.0).unwrap();
        assert!(!liveness.is_silent(start));
        assert!(liveness.is_silent(start));
    }
}
