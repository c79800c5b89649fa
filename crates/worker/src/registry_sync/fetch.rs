//! Reads the content of one tag, and checks it.

use greenroom_domain::definition::Diagnostic;
use greenroom_domain::step::{self, FileMode, StepManifest, StepTag, content_digest, content_lines};
use greenroom_domain::step_registry::{AllowedSigner, RefusalKind};
use greenroom_registry::{
    Bounds, FetchedStep, ObjectId, RegistryError, RegistryReader, SignatureError, Source, verify_signature,
};
use greenroom_store::step_registry::{NewStepVersion, TagRefusal};

/// What a tag has: a version of a step, or something that can't be one.
pub(super) enum Fetched {
    Version(Box<NewStepVersion>),
    Refused(TagRefusal),
}

/// Fetches a tag. Fails if the registry can't be read at all.
pub(super) async fn fetch(
    reader: &RegistryReader,
    source: &Source,
    (tag, object): (&StepTag, &ObjectId),
    (signers, requires_signature): (&[AllowedSigner], bool),
) -> Result<Fetched, RegistryError> {
    let refused = |kind, reason: String| {
        let (name, version) = (tag.name.clone(), tag.version.clone());
        Ok(Fetched::Refused(TagRefusal { name, version, object: object.to_string(), kind, reason }))
    };
    let fetched = match reader.fetch_step(source, tag, object, &Bounds::default()).await {
        Ok(fetched) => fetched,
        Err(error) if is_of_tag(&error) => return refused(RefusalKind::Invalid, error.to_string()),
        Err(error) => return Err(error),
    };
    let signer = match signer(&fetched, tag, signers, reader).await {
        Ok(signer) => Some(signer),
        Err(SignatureError::Program(error)) => return Err(RegistryError::Folder(error)),
        Err(error) if requires_signature => {
            return refused(RefusalKind::SignatureRefused, error.to_string());
        }
        Err(_) => None,
    };
    match version(tag, object, fetched, signer) {
        Ok(version) => Ok(Fetched::Version(Box::new(version))),
        Err(reason) => refused(RefusalKind::Invalid, reason),
    }
}

async fn signer(
    fetched: &FetchedStep,
    tag: &StepTag,
    signers: &[AllowedSigner],
    reader: &RegistryReader,
) -> Result<String, SignatureError> {
    let object = fetched.tag_object.as_deref().ok_or(SignatureError::Missing)?;
    Ok(verify_signature(object, tag, signers, reader.folder()).await?.name)
}

/// Checks the files and the manifest. Returns the reason if they can't be a step.
fn version(
    tag: &StepTag,
    object: &ObjectId,
    fetched: FetchedStep,
    signer: Option<String>,
) -> Result<NewStepVersion, String> {
    let files: Vec<step::StepFile> = fetched
        .files
        .iter()
        .map(|file| step::StepFile::new(&file.path, mode(file.mode), &file.bytes))
        .collect();
    let digest = content_digest(&files).map_err(|error| error.to_string())?;
    let lines = content_lines(&files).map_err(|error| error.to_string())?;
    let manifest = fetched.files.iter().find(|file| file.path == step::MANIFEST_PATH);
    let manifest = manifest.map(|file| file.bytes.clone()).unwrap_or_default();
    let manifest = String::from_utf8(manifest).map_err(|_| "step.yaml is not UTF-8".to_owned())?;
    let parsed = StepManifest::parse(&manifest, Some(&tag.name)).map_err(|problems| first(&problems))?;
    Ok(NewStepVersion {
        name: tag.name.clone(),
        version: tag.version.clone(),
        digest,
        tag_object: object.to_string(),
        description: parsed.description,
        manifest,
        files: lines,
        bytes: files.iter().map(|file| file.bytes).sum(),
        archive: fetched.archive.bytes,
        signer,
    })
}

const fn mode(mode: greenroom_registry::FileMode) -> FileMode {
    match mode {
        greenroom_registry::FileMode::Regular => FileMode::Regular,
        greenroom_registry::FileMode::Executable => FileMode::Executable,
    }
}

/// Describes the first problem of a manifest, and how many there are.
fn first(problems: &[Diagnostic]) -> String {
    let Some(Diagnostic { line, column, message, .. }) = problems.first() else {
        return "step.yaml can't be read".to_owned();
    };
    let more = match problems.len() - 1 {
        0 => String::new(),
        count => format!(" (and {count} more problems)"),
    };
    format!("step.yaml, line {line}, column {column}: {message}{more}")
}

/// Returns whether an error is about one tag: the others can be read all the same.
const fn is_of_tag(error: &RegistryError) -> bool {
    match error {
        RegistryError::TooLarge { .. }
        | RegistryError::Malformed(_)
        | RegistryError::TagMissing(_)
        | RegistryError::TagMoved { .. }
        | RegistryError::NotACommit(_)
        | RegistryError::TagObject { .. }
        | RegistryError::NoFolder(_)
        | RegistryError::NoManifest(_)
        | RegistryError::Entry { .. }
        | RegistryError::TooManyFiles(_)
        | RegistryError::StepTooLarge(_) => true,
        RegistryError::Address(_)
        | RegistryError::Unreachable
        | RegistryError::Certificate
        | RegistryError::Redirect
        | RegistryError::CredentialRequired
        | RegistryError::CredentialRefused
        | RegistryError::NotFound
        | RegistryError::Status(_)
        | RegistryError::Timeout(_)
        | RegistryError::TooSlow(_)
        | RegistryError::TooManyTags { .. }
        | RegistryError::Protocol
        | RegistryError::Git { .. }
        | RegistryError::Program
        | RegistryError::Folder(_) => false,
    }
}
