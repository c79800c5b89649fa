//! What a step wrote to the file `$GREENROOM_OUTPUT`: lines `name=value`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// For the whole file.
const LIMIT: u64 = 256 * 1024;
const LONGEST_NAME: usize = 128;

/// What is wrong with it, for people.
pub fn read(file: &Path) -> Result<BTreeMap<String, String>, String> {
    // A step may have put a link there, and this process can read more than the step could.
    let kind =
        std::fs::symlink_metadata(file).map_err(|error| format!("the outputs could not be read: {error}"))?;
    if !kind.is_file() {
        return Err("$GREENROOM_OUTPUT is no longer a file".to_owned());
    }
    let mut text = Vec::new();
    File::open(file)
        .and_then(|file| file.take(LIMIT + 1).read_to_end(&mut text))
        .map_err(|error| format!("the outputs could not be read: {error}"))?;
    if text.len() as u64 > LIMIT {
        return Err(format!("the outputs are larger than {} KiB", LIMIT / 1024));
    }
    let text = String::from_utf8(text).map_err(|_| "the outputs are not UTF-8".to_owned())?;
    parse(&text)
}

fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut outputs = BTreeMap::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let number = index + 1;
        let (name, value) =
            line.split_once('=').ok_or_else(|| format!("line {number} of the outputs has no `=`"))?;
        if !is_name(name) {
            return Err(format!(
                "line {number} of the outputs: a name has letters, digits and _, 128 at most"
            ));
        }
        // What was said last counts, as in a shell.
        outputs.insert(name.to_owned(), value.to_owned());
    }
    Ok(outputs)
}

fn is_name(name: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.len() <= LONGEST_NAME
        && name.bytes().all(sound)
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_name_and_a_value() {
        let found = parse("version=1.2\n\nurl=https://x/?a=b\nempty=\nversion=1.3\n_x9= spaces \n").unwrap();
        let expected = [("_x9", " spaces "), ("empty", ""), ("url", "https://x/?a=b"), ("version", "1.3")];
        assert!(found.iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(expected));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["version", "=1", "9x=1", "a-b=1", "ä=1", " a=1", &format!("{}=1", "a".repeat(129))] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&format!("{}=1", "a".repeat(128))).is_ok());
    }

    #[test]
    fn a_file_has_a_size_and_is_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("output");
        std::fs::write(&file, format!("a={}", "x".repeat(256 * 1024 - 2))).unwrap();
        assert!(read(&file).is_ok());
        std::fs::write(&file, format!("a={}", "x".repeat(256 * 1024 - 1))).unwrap();
        assert!(read(&file).unwrap_err().contains("256 KiB"));
        std::fs::write(&file, b"a=\xff").unwrap();
        assert!(read(&file).is_err());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(read(&link).is_err());
    }
}
