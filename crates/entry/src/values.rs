//! Values that the runner sends by standard input: variables and files of the step's program. This way they
//! are neither in the container's configuration nor in any file of the container engine. A frame is
//!
//! ```text
//! kind (1 byte) | length of the name (4 bytes) | length of the value (4 bytes) | name | value
//! ```
//!
//! with big-endian lengths. The frame `start` ends the values that the program starts with. After it only
//! files may follow, and each replaces the file of the same name. The runner has the same format in
//! `backend/values.rs`. No error contains a value.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use crate::write_log;

const VARIABLE: u8 = b'v';
const FILE: u8 = b'f';
const START: u8 = b's';

const HEADER_BYTES: usize = 9;
/// The limit of all values that the program starts with, and of each later one; also the size of the tmpfs.
const MAX_BYTES: usize = 1024 * 1024;
const READ_BYTES: usize = 64 * 1024;

pub(crate) struct Values {
    /// The folder of the files.
    folder: PathBuf,
    /// `None` after its end.
    input: Option<File>,
    received: Vec<u8>,
    /// The number of bytes in the frames so far.
    total: usize,
    variables: Vec<(OsString, OsString)>,
    files: Vec<String>,
    /// Names and values of files that could not be replaced, because the step has filled the folder or put
    /// something in the way.
    failed: Vec<(String, Vec<u8>)>,
    is_complete: bool,
}

impl Values {
    pub(crate) fn from_stdin(folder: PathBuf) -> io::Result<Self> {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        Ok(Values {
            folder,
            input: Some(input),
            received: Vec::new(),
            total: 0,
            variables: Vec::new(),
            files: Vec::new(),
            failed: Vec::new(),
            is_complete: false,
        })
    }

    /// Returns the input to poll; `None` after its end.
    pub(crate) fn input(&self) -> Option<BorrowedFd<'_>> {
        self.input.as_ref().map(File::as_fd)
    }

    /// Returns whether all values have arrived that the program starts with.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub(crate) fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    /// Reads from the input, which has to be readable, and applies the frames that are complete. After the
    /// program has started, errors are only written to its log: it continues with the values that it has.
    pub(crate) fn receive(&mut self) -> io::Result<()> {
        match self.read_and_apply() {
            Err(error) if self.is_complete => {
                write_log(&format!("values are not renewed any more: {error}"));
                self.input = None;
                Ok(())
            }
            done => done,
        }
    }

    fn read_and_apply(&mut self) -> io::Result<()> {
        let Some(input) = &mut self.input else { return Ok(()) };
        let mut bytes = [0; READ_BYTES];
        let count = match input.read(&mut bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        };
        if count == 0 {
            self.input = None;
            return if self.is_complete {
                Ok(())
            } else {
                Err(invalid("the runner has not sent all values"))
            };
        }
        self.received.extend_from_slice(&bytes[..count]);
        while let Some((kind, name, value)) = self.next_frame()? {
            if !self.is_complete {
                self.apply(kind, name, value)?;
                continue;
            }
            self.failed.retain(|(failed, _)| *failed != name);
            if let Err(error) = self.apply(kind, name.clone(), value.clone()) {
                write_log(&format!("a value was not renewed: {error}"));
                if self.files.contains(&name) {
                    self.failed.push((name, value));
                }
            }
        }
        Ok(())
    }

    /// Tries again to replace the files for which that has failed.
    pub(crate) fn retry(&mut self) {
        let mut failed = std::mem::take(&mut self.failed);
        failed.retain(|(name, value)| self.replace_file(name, value).is_err());
        self.failed = failed;
    }

    /// Takes the next frame out of the received bytes; `None` if it has not arrived completely.
    fn next_frame(&mut self) -> io::Result<Option<(u8, String, Vec<u8>)>> {
        let Some(header) = self.received.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let [kind, lengths @ ..] = *header;
        let [name, value] = [&lengths[..4], &lengths[4..]]
            .map(|length| length.iter().fold(0_usize, |sum, &byte| (sum << 8) | usize::from(byte)));
        let bytes = HEADER_BYTES.saturating_add(name).saturating_add(value);
        let total = if self.is_complete { bytes } else { self.total.saturating_add(bytes) };
        if total > MAX_BYTES {
            return Err(invalid("the values are larger than 1 MiB"));
        }
        if self.received.len() < bytes {
            return Ok(None);
        }
        self.total = total;
        let rest = self.received.split_off(bytes);
        let mut frame = std::mem::replace(&mut self.received, rest);
        let value = frame.split_off(HEADER_BYTES + name);
        let name = String::from_utf8(frame.split_off(HEADER_BYTES))
            .map_err(|_| invalid("the name of a value is not text"))?;
        Ok(Some((kind, name, value)))
    }

    fn apply(&mut self, kind: u8, name: String, value: Vec<u8>) -> io::Result<()> {
        if kind == START {
            self.is_complete = true;
            return Ok(());
        }
        if !is_variable_name(&name) {
            return Err(invalid("the name of a value is not that of a variable"));
        }
        match kind {
            VARIABLE if !self.is_complete => {
                if value.contains(&0) {
                    return Err(invalid(&format!("the value of {name} contains a NUL byte")));
                }
                self.variables.push((name.into(), OsString::from_vec(value)));
            }
            FILE => {
                let path = self.replace_file(&name, &value)?;
                if !self.is_complete {
                    self.variables.push((name.clone().into(), path.into()));
                }
                if !self.files.contains(&name) {
                    self.files.push(name);
                }
            }
            _ => return Err(invalid("the runner has sent an unknown kind of value")),
        }
        Ok(())
    }

    /// Writes a file that only the step's user can read. It is renamed, so that a reader finds either the old
    /// value or the new one. The step can write this folder too: what it has put in the way is replaced, and
    /// links are not followed.
    fn replace_file(&self, name: &str, value: &[u8]) -> io::Result<PathBuf> {
        let path = self.folder.join(name);
        let fresh = self.folder.join(format!(".{name}.new"));
        let failed =
            |error: io::Error| io::Error::new(error.kind(), format!("the file {}: {error}", path.display()));
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o400)
            .open(&fresh)
            .and_then(|mut file| file.write_all(value))
            .and_then(|()| fs::rename(&fresh, &path));
        match written {
            Ok(()) => Ok(path),
            Err(error) => {
                let _ = fs::remove_file(&fresh);
                Err(failed(error))
            }
        }
    }
}

/// Removes the files. The runner removes the whole folder, unless it was killed.
impl Drop for Values {
    fn drop(&mut self) {
        for name in &self.files {
            let _ = fs::remove_file(self.folder.join(name));
        }
        // Fails for a mounted tmpfs, which ends with the container.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Returns whether this is a name of a variable in a shell. Such a name contains no path.
fn is_variable_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(is_allowed) && !name.as_bytes()[0].is_ascii_digit()
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, text)
}
