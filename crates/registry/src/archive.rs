//! The archive of a step. The same files always make the same bytes.

use std::io;

use sha2::{Digest, Sha256};

use crate::tree::StepFile;

const BLOCK_BYTES: usize = 512;

/// A tar archive of a step's files: sorted by path, without times, owned by user 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    pub bytes: Vec<u8>,
    pub sha256: [u8; 32],
}

impl Archive {
    /// Packs files, which have to be sorted by path.
    pub(crate) fn pack(files: &[StepFile]) -> io::Result<Self> {
        // A growing buffer would be copied, and need up to three times the memory of the files.
        let mut builder = tar::Builder::new(Vec::with_capacity(max_bytes(files)));
        for file in files {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(tar::EntryType::Regular);
            header.set_size(file.bytes.len() as u64);
            header.set_mode(file.mode.permissions());
            header.set_uid(0);
            header.set_gid(0);
            header.set_mtime(0);
            builder.append_data(&mut header, &file.path, file.bytes.as_slice())?;
        }
        let bytes = builder.into_inner()?;
        let sha256 = Sha256::digest(&bytes).into();
        Ok(Self { bytes, sha256 })
    }
}

/// A file has a header, more of them if its path is long, and is filled up to a whole number of blocks. Two blocks are the end.
fn max_bytes(files: &[StepFile]) -> usize {
    let bytes = |file: &StepFile| file.bytes.len() + file.path.len() + 5 * BLOCK_BYTES;
    files.iter().map(bytes).sum::<usize>() + 2 * BLOCK_BYTES
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::tree::FileMode;

    fn file(path: &str, mode: FileMode, text: &str) -> StepFile {
        StepFile { path: path.to_owned(), mode, bytes: text.into(), sha256: [0; 32] }
    }

    #[test]
    fn the_same_files_make_the_same_archive() {
        let long = format!("{}/{}", "a".repeat(120), "b".repeat(120));
        let files = [
            file(&long, FileMode::Regular, "long"),
            file("run.sh", FileMode::Executable, "echo"),
            file("step.yaml", FileMode::Regular, "name: x"),
        ];
        let archive = Archive::pack(&files).unwrap();
        assert_eq!(archive, Archive::pack(&files).unwrap());
        assert!(archive.bytes.len() <= max_bytes(&files));
        let mut unpacked = Vec::new();
        for entry in tar::Archive::new(archive.bytes.as_slice()).entries().unwrap() {
            let mut entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap(), header.gid().unwrap()), (0, 0, 0));
            let mode = header.mode().unwrap();
            let path = entry.path().unwrap().to_str().unwrap().to_owned();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            unpacked.push((path, mode, text));
        }
        let expected = [
            (long, 0o644, "long".to_owned()),
            ("run.sh".to_owned(), 0o755, "echo".to_owned()),
            ("step.yaml".to_owned(), 0o644, "name: x".to_owned()),
        ];
        assert_eq!(unpacked, expected);
    }
}
