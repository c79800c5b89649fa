//! Tar archives, written byte by byte: the libraries refuse what a hostile runner writes, and what is read here has to be read
//! without the product's code.

const BLOCK: usize = 512;

pub(super) enum Entry<'a> {
    File { path: &'a str, content: &'a [u8] },
    Link { path: &'a str, target: &'a str },
}

pub(super) fn pack(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut archive = Vec::new();
    for entry in entries {
        let (path, kind, content, target) = match *entry {
            Entry::File { path, content } => (path, b'0', content, ""),
            Entry::Link { path, target } => (path, b'2', &[][..], target),
        };
        archive.extend(header(path, kind, content.len(), target));
        archive.extend_from_slice(content);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK, 0);
    archive
}

fn header(path: &str, kind: u8, size: usize, target: &str) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut set = |offset: usize, bytes: &[u8]| {
        for (place, byte) in header.iter_mut().skip(offset).zip(bytes) {
            *place = *byte;
        }
    };
    set(0, path.as_bytes());
    set(100, b"0000755\0");
    set(108, b"0000000\0");
    set(116, b"0000000\0");
    set(124, format!("{size:011o}").as_bytes());
    set(136, b"00000000000\0");
    // The checksum counts its own field as spaces.
    set(148, b"        ");
    set(156, &[kind]);
    set(157, target.as_bytes());
    set(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    let sum = format!("{sum:06o}\0 ");
    for (place, byte) in header.iter_mut().skip(148).zip(sum.as_bytes()) {
        *place = *byte;
    }
    header
}

/// Returns the paths and contents of an archive's files, up to the first part that is not understood. As the product's runner does,
/// it leaves out what would be written through a link of the archive.
pub(super) fn files(archive: &[u8]) -> Vec<(String, &[u8])> {
    let (mut files, mut links) = (Vec::new(), Vec::new());
    let mut rest = archive;
    while let Some((header, after)) = rest.split_at_checked(BLOCK) {
        let (Some(path), Some(size)) = (text(header, 0, 100), number(header, 124, 12)) else { break };
        let Some(content) = after.get(..size).filter(|_| !path.is_empty()) else { break };
        match header.get(156) {
            Some(b'0' | 0) if !is_below(&links, path) => files.push((path.to_owned(), content)),
            Some(b'1' | b'2') => links.push(path.to_owned()),
            _ => {}
        }
        rest = after.get(size.next_multiple_of(BLOCK)..).unwrap_or_default();
    }
    files
}

fn text(header: &[u8], offset: usize, length: usize) -> Option<&str> {
    let field = header.get(offset..offset + length)?;
    std::str::from_utf8(field.split(|byte| *byte == 0).next()?).ok()
}

fn number(header: &[u8], offset: usize, length: usize) -> Option<usize> {
    usize::from_str_radix(text(header, offset, length)?.trim(), 8).ok()
}

/// Returns whether a runner may unpack a path that an archive has: it is below one of the declared ones.
pub(super) fn is_below(declared: &[String], path: &str) -> bool {
    let is_plain = path.split('/').all(|part| !matches!(part, ".." | ".git")) && !path.starts_with('/');
    let path = path.trim_start_matches("./");
    let covers = |declared: &String| {
        path.strip_prefix(declared.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_plain && declared.iter().any(covers)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn what_is_packed_can_be_read() {
        let long = [b'x'; 700];
        let archive = pack(&[
            Entry::File { path: "out/a", content: b"one" },
            Entry::Link { path: "out/up", target: "../../.git" },
            Entry::File { path: "out/up/c", content: b"three" },
            Entry::File { path: "../b", content: &long },
        ]);
        assert_eq!(files(&archive), [("out/a".to_owned(), &b"one"[..]), ("../b".to_owned(), &long[..])]);
        // By another program, too.
        let mut tar = Command::new("tar");
        tar.args(["--list", "--file", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut tar = tar.spawn().unwrap();
        tar.stdin.take().unwrap().write_all(&archive).unwrap();
        let listed = String::from_utf8(tar.wait_with_output().unwrap().stdout).unwrap();
        assert_eq!(listed.lines().collect::<Vec<_>>(), ["out/a", "out/up", "out/up/c", "../b"]);
    }

    #[test]
    fn only_paths_below_declared_ones_are_unpacked() {
        let declared = ["out/build".to_owned(), "app".to_owned()];
        for (path, expected) in [
            ("out/build", true),
            ("./out/build/x", true),
            ("app/version", true),
            ("out/builder", false),
            ("out", false),
            ("out/build/../../x", false),
            ("/app/x", false),
            (".git/config", false),
            ("app/.git/config", false),
        ] {
            assert_eq!(is_below(&declared, path), expected, "{path}");
        }
    }
}
