//! A file that steps print, whole or in parts, and the expected checksums of the server's logs.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sha2::{Digest, Sha256};

pub(crate) const MIB: u64 = 1024 * 1024;
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ -";

pub(crate) struct LogFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

impl LogFile {
    /// Creates the file with lines of letters, which are the same in every run and do not compress well.
    pub(crate) fn make(path: &Path, bytes: u64) -> anyhow::Result<Self> {
        let (mut random, mut writer) = (SmallRng::seed_from_u64(1), BufWriter::new(File::create(path)?));
        let mut line = [b'\n'; 128];
        for _ in 0..bytes / line.len() as u64 {
            for letter in line.iter_mut().take(127) {
                *letter = LETTERS.get(random.random_range(0..LETTERS.len())).copied().unwrap_or(b'-');
            }
            writer.write_all(&line)?;
        }
        writer.flush()?;
        Ok(Self { path: path.to_owned(), bytes })
    }

    /// Returns the checksum of this many bytes from an offset.
    pub(crate) fn sha256(&self, from: u64, bytes: u64) -> anyhow::Result<[u8; 32]> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(from))?;
        let (mut part, mut digest, mut block) = (file.take(bytes), Sha256::new(), vec![0; 1 << 16]);
        loop {
            let count = part.read(&mut block)?;
            if count == 0 {
                return Ok(digest.finalize().into());
            }
            digest.update(block.get(..count).unwrap_or_default());
        }
    }
}
