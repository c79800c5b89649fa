use tar::{Builder, Header};

use super::*;

const MANIFEST: (&str, u32, &str) = ("step.yaml", 0o644, "name: roll-out\n");

/// Appends an entry without any checks of the library.
fn append(builder: &mut Builder<Vec<u8>>, name: &str, mode: u32, kind: EntryType, content: &str) {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
    let body = if is_link { "" } else { content };
    header.set_size(body.len() as u64);
    let fields = header.as_gnu_mut().unwrap();
    fields.name[..name.len()].copy_from_slice(name.as_bytes());
    if is_link {
        fields.linkname[..content.len()].copy_from_slice(content.as_bytes());
    }
    header.set_cksum();
    builder.append(&header, body.as_bytes()).unwrap();
}

fn archive(files: &[(&str, u32, &str)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, mode, content) in files {
        append(&mut builder, name, *mode, EntryType::Regular, content);
    }
    builder.into_inner().unwrap()
}

fn digest(files: &[(&str, u32, &str)]) -> StepDigest {
    let file = |(path, mode, content): &(&str, u32, &str)| {
        let mode = if *mode == 0o755 { FileMode::Executable } else { FileMode::Regular };
        StepFile::new(path, mode, content.as_bytes())
    };
    content_digest(&files.iter().map(file).collect::<Vec<_>>()).unwrap()
}

/// Returns why an archive is refused, whose digest does not matter.
fn refusal(archive: &[u8]) -> String {
    StepContent::verify(archive, &digest(&[MANIFEST])).unwrap_err().to_string()
}

#[test]
fn verified_files_are_unpacked_with_their_modes() {
    let files = [MANIFEST, ("bin/deep/run.sh", 0o755, "#!/bin/sh\n"), ("bin/data", 0o644, "")];
    let content = StepContent::verify(&archive(&files), &digest(&files)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("step");
    content.unpack(&target).unwrap();
    for (path, mode, text) in files {
        let path = target.join(path);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode, "{}", path.display());
    }
    assert_eq!(fs::metadata(target.join("bin/deep")).unwrap().permissions().mode() & 0o777, 0o755);
    // Nothing is added to a folder that exists.
    assert!(content.unpack(&target).is_err());
}

#[test]
fn a_long_path_is_read() {
    let long = format!("{}/{}", "a".repeat(150), "b".repeat(150));
    let files = [MANIFEST, (long.as_str(), 0o644, "x")];
    let mut builder = Builder::new(archive(&[]));
    for (path, mode, content) in files {
        let mut header = Header::new_gnu();
        header.set_mode(mode);
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, path, content.as_bytes()).unwrap();
    }
    let archive = builder.into_inner().unwrap().split_off(1024);
    StepContent::verify(&archive, &digest(&files)).unwrap();
}

/// The bug to find: an archive is taken for the content of a digest that it does not have.
#[test]
fn every_difference_changes_the_digest() {
    let files = [MANIFEST, ("run.sh", 0o755, "echo well")];
    let expected = digest(&files);
    StepContent::verify(&archive(&files), &expected).unwrap();
    for other in [
        vec![MANIFEST, ("run.sh", 0o755, "echo evil")],
        vec![MANIFEST, ("run.sh", 0o644, "echo well")],
        vec![MANIFEST, ("ran.sh", 0o755, "echo well")],
        vec![MANIFEST, ("run.sh", 0o755, "echo well"), ("more", 0o644, "")],
        vec![MANIFEST],
    ] {
        let error = StepContent::verify(&archive(&other), &expected).unwrap_err();
        assert!(matches!(&error, InvalidArchive::Digest { actual } if *actual == digest(&other)), "{error}");
    }
    // The same path twice: the later content would replace the verified one.
    let twice = archive(&[MANIFEST, ("run.sh", 0o755, "echo well"), ("run.sh", 0o755, "echo evil")]);
    assert!(matches!(StepContent::verify(&twice, &expected), Err(InvalidArchive::Content(_))));
    let mut truncated = archive(&files);
    truncated.truncate(512 + 512 + 512 + 4);
    assert!(StepContent::verify(&truncated, &expected).is_err());
}

#[test]
fn only_regular_files_are_accepted() {
    for (kind, target) in [
        (EntryType::Symlink, "/etc/passwd"),
        (EntryType::Symlink, "step.yaml"),
        (EntryType::Link, "step.yaml"),
        (EntryType::Directory, ""),
        (EntryType::Fifo, ""),
        (EntryType::Char, ""),
        (EntryType::XGlobalHeader, "11 path=x\n"),
    ] {
        let mut builder = Builder::new(Vec::new());
        append(&mut builder, "step.yaml", 0o644, EntryType::Regular, MANIFEST.2);
        append(&mut builder, "other", 0o644, kind, target);
        let error = refusal(&builder.into_inner().unwrap());
        assert!(error.contains("not a regular file"), "{kind:?}: {error}");
    }
}

#[test]
fn paths_that_could_lead_out_of_the_folder_are_refused() {
    for path in ["../x", "a/../../x", "/etc/x", "./x", "a//b", "a/", "..", "a\\b", ".git/config", "a\u{1b}b"]
    {
        let error = refusal(&archive(&[MANIFEST, (path, 0o644, "x")]));
        assert!(error.contains("contains the path"), "{path:?}: {error}");
    }
    let clash = refusal(&archive(&[MANIFEST, ("a", 0o644, ""), ("a/b", 0o644, "")]));
    assert!(clash.contains("a file and a folder"), "{clash}");
}

#[test]
fn an_error_is_short_however_long_a_path_is() {
    let mut builder = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(0);
    builder.append_data(&mut header, "a".repeat(100_000), &b""[..]).unwrap();
    let error = refusal(&builder.into_inner().unwrap());
    assert!(error.contains("longer than") && error.len() < 400, "{error:.500}");
}

#[test]
fn modes_with_more_rights_are_refused() {
    for mode in [0o4755, 0o2755, 0o777, 0o666, 0o600, 0] {
        let error = refusal(&archive(&[MANIFEST, ("run", mode, "x")]));
        assert!(error.contains(&format!("mode {mode:o}")), "{error}");
    }
}

#[test]
fn too_many_and_too_large_files_are_refused() {
    let names: Vec<String> = (0..MAX_FILES).map(|number| format!("file-{number}")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), 0o644, "")).chain([MANIFEST]).collect();
    assert!(refusal(&archive(&files)).contains("more than 256 files"));
    let large = "x".repeat(8 * 1024 * 1024);
    assert!(refusal(&archive(&[MANIFEST, ("large", 0o644, &large)])).contains("8 MiB"));
}

#[test]
fn what_is_not_an_archive_is_refused() {
    for bytes in [&b""[..], b"<html>", &[0; 1024], &[0xff; 4096]] {
        assert!(StepContent::verify(bytes, &digest(&[MANIFEST])).is_err());
    }
    // A sparse file would be larger than the archive.
    let mut builder = Builder::new(Vec::new());
    append(&mut builder, "step.yaml", 0o644, EntryType::GNUSparse, "x");
    refusal(&builder.into_inner().unwrap());
    // A header that announces more than there is.
    let mut builder = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_path("step.yaml").unwrap();
    header.set_mode(0o644);
    header.set_size(u64::MAX >> 1);
    header.set_cksum();
    builder.append(&header, &b"x"[..]).unwrap();
    assert!(StepContent::verify(&builder.into_inner().unwrap(), &digest(&[MANIFEST])).is_err());
}
