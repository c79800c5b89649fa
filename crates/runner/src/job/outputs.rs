//! Parses the file `$GREENROOM_OUTPUT` of a step: lines of the form `name=value`. Outputs are visible to every
//! member, so they must not contain secrets.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use greenroom_domain::output::{self, InvalidOutput};

use crate::log::SecretPatterns;

/// The limit of the whole file. The server checks the total size of all outputs of a deployment.
const MAX_FILE_BYTES: u64 = output::MAX_DEPLOYMENT_BYTES as u64;

/// Reads the outputs. The error is shown to users, after secrets in it were masked.
pub fn read(file: &Path, secrets: &SecretPatterns) -> Result<BTreeMap<String, String>, String> {
    // A step may have replaced the file by a link, and this process can read more than the step could.
    let kind =
        std::fs::symlink_metadata(file).map_err(|error| format!("the outputs could not be read: {error}"))?;
    if !kind.is_file() {
        return Err("$GREENROOM_OUTPUT is no longer a file".to_owned());
    }
    let mut text = Vec::new();
    File::open(file)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text))
        .map_err(|error| format!("the outputs could not be read: {error}"))?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("the outputs are larger than {} KiB", MAX_FILE_BYTES / 1024));
    }
    let text = String::from_utf8(text).map_err(|_| "the outputs are not UTF-8".to_owned())?;
    let outputs = parse(&text)?;
    for (name, value) in &outputs {
        if let Some(secret) = secrets.find(value.as_bytes()).or_else(|| secrets.find(name.as_bytes())) {
            return Err(format!("output `{name}` holds the secret `{secret}`"));
        }
    }
    Ok(outputs)
}

fn parse(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut outputs = BTreeMap::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let number = index + 1;
        let (name, value) =
            line.split_once('=').ok_or_else(|| format!("line {number} of the outputs has no `=`"))?;
        match output::check(name, value) {
            Ok(()) => {}
            // An invalid name can contain anything, so the message has the line number instead.
            Err(InvalidOutput::Name) => {
                return Err(format!("the output in line {number} {}", InvalidOutput::Name));
            }
            Err(error) => return Err(format!("the output `{name}` {error}")),
        }
        // The last assignment wins, as in a shell.
        outputs.insert(name.to_owned(), value.to_owned());
    }
    Ok(outputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_name_and_a_value() {
        let found = parse("version=1.2\n\nurl=https://x/?a=b\nempty=\nversion=1.3\n_x9= spaces \n").unwrap();
        let expected = [("_x9", " spaces "), ("empty", ""), ("url", "https://x/?a=b"), ("version", "1.3")];
        assert!(found.iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(expected));
    }

    #[test]
    fn invalid_lines_are_rejected() {
        for text in ["version", "=1", "9x=1", "a-b=1", "ä=1", " a=1", &format!("{}=1", "a".repeat(129))] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&format!("{}=1", "a".repeat(128))).is_ok());
    }

    #[test]
    fn an_invalid_value_is_rejected_with_the_name_of_its_output() {
        let long = format!("big={}", "x".repeat(32 * 1024 + 1));
        for (text, name, problem) in [
            ("ok=1\nversion=b\0c\n", "`version`", "control character"),
            ("a=\u{1b}[2J", "`a`", "control character"),
            (long.as_str(), "`big`", "32 KiB"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(name) && error.contains(problem), "{error}");
        }
        assert_eq!(parse("tab=a\tb\r\n").unwrap()["tab"], "a\tb");
    }

    #[test]
    fn too_large_files_invalid_utf8_and_links_are_rejected() {
        let read = |file: &Path| read(file, &SecretPatterns::default());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("output");
        let line = format!("a={}\n", "x".repeat(32 * 1024 - 3));
        std::fs::write(&file, line.repeat(8)).unwrap();
        assert!(read(&file).is_ok());
        std::fs::write(&file, format!("{}\n", line.repeat(8))).unwrap();
        assert!(read(&file).unwrap_err().contains("256 KiB"));
        std::fs::write(&file, b"a=\xff").unwrap();
        assert!(read(&file).is_err());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(read(&link).is_err());
    }

    #[test]
    fn outputs_with_a_secret_in_any_form_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("output");
        let secrets = SecretPatterns::new([("shop-key", b"hunter22".as_slice())]).unwrap();
        for (text, expected) in [
            ("a=1\nurl=https://x:hunter22@y\n", Err("output `url` holds the secret `shop-key`")),
            ("basic=dXNlcjpodW50ZXIyMg==\n", Err("output `basic` holds the secret `shop-key`")),
            ("hunter22=1\n", Err("output `hunter22` holds the secret `shop-key`")),
            ("a=hunter\nb=22\n", Ok(2)),
        ] {
            std::fs::write(&file, text).unwrap();
            let found = read(&file, &secrets).map(|outputs| outputs.len());
            assert_eq!(found, expected.map_err(str::to_owned), "{text}");
        }
    }
}
