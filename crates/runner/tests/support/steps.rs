//! Steps of registries.

use greenroom_api_types::runner::{JobRegistryStep, JobStep};
use greenroom_domain::step::{FileMode, StepFile, content_digest};
use serde_json::json;
use tar::{Builder, EntryType, Header};

use super::jobs::step;

/// The content of a step: its archive, as the server has it, and its digest.
pub struct Published {
    pub archive: Vec<u8>,
    pub digest: String,
}

/// Makes a step of these files: path, mode and content. A `step.yaml` is added.
pub fn publish(files: &[(&str, u32, &str)]) -> Published {
    let files: Vec<_> = files.iter().copied().chain([("step.yaml", 0o644, "name: roll-out\n")]).collect();
    let described = files.iter().map(|(path, mode, content)| {
        let mode = if *mode == 0o755 { FileMode::Executable } else { FileMode::Regular };
        StepFile::new(path, mode, content.as_bytes())
    });
    let digest = content_digest(&described.collect::<Vec<_>>()).unwrap().to_string();
    let mut builder = Builder::new(Vec::new());
    for (path, mode, content) in files {
        append(&mut builder, path, mode, EntryType::Regular, content);
    }
    Published { archive: builder.into_inner().unwrap(), digest }
}

/// Appends an entry without any checks of the library. The content of a link is its target.
pub fn append(builder: &mut Builder<Vec<u8>>, path: &str, mode: u32, kind: EntryType, content: &str) {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    let (body, target) = if kind == EntryType::Regular { (content, "") } else { ("", content) };
    header.set_size(body.len() as u64);
    let fields = header.as_gnu_mut().unwrap();
    fields.name[..path.len()].copy_from_slice(path.as_bytes());
    fields.linkname[..target.len()].copy_from_slice(target.as_bytes());
    header.set_cksum();
    builder.append(&header, body.as_bytes()).unwrap();
}

/// Returns a step of a registry with this script.
pub fn registry_step(name: &str, run: &str, digest: &str) -> JobStep {
    let registry_step = JobRegistryStep {
        uses: "acme/roll-out@v2".to_owned(),
        version: "2.3.0".to_owned(),
        digest: digest.to_owned(),
        inputs: json!({ "replicas": 2, "message": "it's \"well\"" }),
    };
    let mut step = JobStep { registry_step: Some(registry_step), ..step(name, run) };
    step.variables.insert("GREENROOM_INPUT_REPLICAS".to_owned(), "2".to_owned());
    step
}
