//! Checks the entrypoint, and copies it to where the engine finds it. It has to run in any image, so it must not need a
//! dynamic loader: most images don't have one at the path of this machine's.

use std::fs::{File, Permissions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::backend::{BackendError, Result};

/// The program header that names a dynamic loader.
const PT_INTERP: u32 = 3;
const MAX_HEADERS: u64 = 1024;

/// Copies the entrypoint into the runner's folder and returns where it is: the engine mounts it by its path, and a runner that is
/// in a container itself shares this folder with the engine and nothing else.
pub(super) fn install(entry: &Path, work_dir: &Path) -> Result<PathBuf> {
    check(entry)?;
    let (installed, new) = (work_dir.join("greenroom-entry"), work_dir.join("greenroom-entry.new"));
    // Replaced in one step: steps of a runner that was killed may still run the former one.
    let copied = std::fs::create_dir_all(work_dir)
        .and_then(|()| std::fs::copy(entry, &new))
        .and_then(|_| std::fs::set_permissions(&new, Permissions::from_mode(0o755)))
        .and_then(|()| std::fs::rename(&new, &installed));
    match copied {
        Ok(()) => Ok(installed),
        Err(error) => {
            let text = format!("the entrypoint can't be copied into {}", work_dir.display());
            Err(BackendError::new(text, error))
        }
    }
}

/// Rejects a file that is not a 64-bit ELF program, or that is dynamically linked.
pub(super) fn check(entry: &Path) -> Result<()> {
    let unsuitable = |problem: String| {
        BackendError::message(format!(
            "the entrypoint {} can't be used in containers: {problem}. `cargo xtask entry` builds a static one; set --entry",
            entry.display()
        ))
    };
    let found = File::open(entry).and_then(|mut file| Ok((needs_loader(&mut file)?, machine(&mut file)?)));
    match found {
        Ok((false, machine)) if own_machine().is_none_or(|own| own == machine) => Ok(()),
        Ok((false, _)) => Err(unsuitable("it was built for another processor".to_owned())),
        Ok((true, _)) => Err(unsuitable("it is dynamically linked".to_owned())),
        Err(error) => Err(unsuitable(error.to_string())),
    }
}

/// Reads a program's processor from its ELF header.
fn machine(file: &mut (impl Read + Seek)) -> io::Result<[u8; 2]> {
    let mut machine = [0_u8; 2];
    file.seek(SeekFrom::Start(18))?;
    file.read_exact(&mut machine)?;
    Ok(machine)
}

/// Returns the processor of this program; `None` if it can't be read.
fn own_machine() -> Option<[u8; 2]> {
    machine(&mut File::open("/proc/self/exe").ok()?).ok()
}

fn needs_loader(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    let mut header = [0_u8; 64];
    file.read_exact(&mut header)?;
    let (is_elf, is_64_bit, is_little_endian) =
        (header.starts_with(b"\x7fELF"), header[4] == 2, header[5] == 1);
    if !is_elf || !is_64_bit {
        return Err(io::Error::other("it is not a 64-bit ELF program"));
    }
    let number = |bytes: &[u8]| {
        let mut padded = [0_u8; 8];
        if is_little_endian {
            padded[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(padded)
        } else {
            padded[8 - bytes.len()..].copy_from_slice(bytes);
            u64::from_be_bytes(padded)
        }
    };
    let (offset, size, count) = (number(&header[32..40]), number(&header[54..56]), number(&header[56..58]));
    if size < 56 || count > MAX_HEADERS {
        return Err(io::Error::other("its program headers can't be read"));
    }
    for index in 0..count {
        let at = offset.checked_add(index * size).ok_or_else(|| io::Error::other("it is damaged"))?;
        file.seek(SeekFrom::Start(at))?;
        let mut kind = [0_u8; 4];
        file.read_exact(&mut kind)?;
        if number(&kind) == u64::from(PT_INTERP) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// Returns a 64-bit ELF file with these program headers.
    fn elf(kinds: &[u32]) -> Vec<u8> {
        let mut file = vec![0_u8; 64];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[32..40].copy_from_slice(&64_u64.to_le_bytes());
        file[54..56].copy_from_slice(&56_u16.to_le_bytes());
        file[56..58].copy_from_slice(&u16::try_from(kinds.len()).unwrap().to_le_bytes());
        for kind in kinds {
            file.extend(kind.to_le_bytes());
            file.extend([0; 52]);
        }
        file
    }

    #[test]
    fn a_program_with_an_interpreter_header_needs_a_loader() {
        for (kinds, needs) in [(&[1_u32, 2, 6][..], false), (&[6, 3, 1][..], true), (&[][..], false)] {
            assert_eq!(needs_loader(&mut Cursor::new(elf(kinds))).unwrap(), needs, "{kinds:?}");
        }
    }

    #[test]
    fn invalid_programs_are_errors() {
        let mut cut = elf(&[1, 1]);
        cut.truncate(100);
        for file in [b"#!/bin/sh\n".to_vec(), vec![0; 100], Vec::new(), cut] {
            assert!(needs_loader(&mut Cursor::new(file)).is_err());
        }
    }

    #[test]
    fn a_dynamically_linked_program_of_this_machine_is_rejected() {
        let error = check(Path::new("/bin/sh")).unwrap_err().to_string();
        assert!(error.contains("dynamically linked") && error.contains("cargo xtask entry"), "{error}");
    }
}
