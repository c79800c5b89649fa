//! The bounds of one call.

use std::time::Duration;

/// What one call may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// From the look-up of the name to the result.
    pub timeout: Duration,
    /// A transfer of less than 1,000 bytes a second ends after this time.
    pub low_speed_timeout: Duration,
    pub max_tags: usize,
    /// The length of git's list of tags.
    pub max_tag_list_bytes: usize,
    /// The size of what is downloaded for one tag: all files of the repository at that tag, compressed.
    pub max_pack_bytes: u64,
    pub max_files: usize,
    /// The size of all files of a step.
    pub max_step_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            low_speed_timeout: Duration::from_secs(10),
            max_tags: 20_000,
            max_tag_list_bytes: 8 << 20,
            max_pack_bytes: 128 << 20,
            max_files: 256,
            max_step_bytes: 8 << 20,
        }
    }
}
