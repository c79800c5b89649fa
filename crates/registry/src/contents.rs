//! Contents of objects, as `cat-file --batch` prints them. Pure.

use sha2::{Digest, Sha256};

use crate::tree::{Entry, StepFile};

/// What `cat-file` prints for one object beside its content.
const MAX_HEADER_BYTES: usize = 128;

/// Returns how much `cat-file --batch` may print for these objects.
pub(crate) fn max_batch_bytes(count: usize, total: u64) -> usize {
    usize::try_from(total).unwrap_or(usize::MAX).saturating_add(count * MAX_HEADER_BYTES)
}

/// Splits the first object off: `ID TYPE SIZE<newline>CONTENT<newline>`. `None` if it is another one, or incomplete.
pub(crate) fn split_object<'a>(
    printed: &'a [u8],
    object: &str,
    kind: &str,
    size: u64,
) -> Option<(&'a [u8], &'a [u8])> {
    let header = format!("{object} {kind} {size}\n");
    let rest = printed.strip_prefix(header.as_bytes())?;
    let (content, rest) = rest.split_at_checked(usize::try_from(size).ok()?)?;
    Some((content, rest.strip_prefix(b"\n")?))
}

/// Returns the files of these entries. `None` if git has printed something else.
pub(crate) fn parse_contents(printed: &[u8], entries: Vec<Entry>) -> Option<Vec<StepFile>> {
    let mut rest = printed;
    let mut files = Vec::with_capacity(entries.len());
    for entry in entries {
        let (content, after) = split_object(rest, entry.object.as_str(), "blob", entry.size)?;
        rest = after;
        files.push(StepFile {
            path: entry.path,
            mode: entry.mode,
            bytes: content.to_vec(),
            sha256: Sha256::digest(content).into(),
        });
    }
    rest.is_empty().then_some(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::FileMode;

    fn entry(size: u64) -> Entry {
        let object = "a".repeat(40).parse().unwrap();
        Entry { path: "x".to_owned(), mode: FileMode::Regular, object, size }
    }

    #[test]
    fn contents_have_the_announced_objects_and_sizes() {
        let id = "a".repeat(40);
        let good = format!("{id} blob 2\nab\n{id} blob 0\n\n");
        let files = parse_contents(good.as_bytes(), vec![entry(2), entry(0)]).unwrap();
        assert_eq!((files[0].bytes.as_slice(), files[1].bytes.as_slice()), (&b"ab"[..], &b""[..]));
        for printed in [
            format!("{id} missing\n"),
            format!("{id} blob 3\nabc\n"),
            format!("{id} tree 2\nab\n"),
            format!("{id} blob 2\na"),
            format!("{id} blob 2\nabc"),
            format!("{id} blob 2\nab\nx"),
            format!("{} blob 2\nab\n", "b".repeat(40)),
        ] {
            assert_eq!(parse_contents(printed.as_bytes(), vec![entry(2)]), None, "{printed}");
        }
    }
}
