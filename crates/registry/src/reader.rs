//! Reads registries: the entry point of this crate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use greenroom_domain::step::StepTag;
use greenroom_outbound::{AllowList, Lookup, Purpose, Requester, SystemLookup, pin_addresses};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::archive::Archive;
use crate::bounds::Bounds;
use crate::contents::{max_batch_bytes, parse_contents, split_object};
use crate::error::RegistryError;
use crate::failure::GitFailure;
use crate::git::{Call, Git};
use crate::object_id::ObjectId;
use crate::source::Source;
use crate::tag::{Tag, parse_list};
use crate::tag_object::{MAX_TAG_OBJECT_BYTES, TagObject};
use crate::tree::{StepFile, max_list_bytes, parse_tree};

/// Where the tag is stored in the temporary repository.
const FETCHED_REF: &str = "refs/greenroom/tag";
/// A call that prints a line or two.
const SHORT_OUTPUT_BYTES: usize = 4096;

/// A step, as the commit of its tag has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedStep {
    pub commit: ObjectId,
    /// The bytes of the tag object, for [`crate::verify_signature`]. `None` for a lightweight tag.
    pub tag_object: Option<Vec<u8>>,
    /// Sorted by path.
    pub files: Vec<StepFile>,
    pub archive: Archive,
}

/// Reads registries. Cheap to clone.
#[derive(Clone)]
pub struct RegistryReader {
    allow: Arc<AllowList>,
    requester: Requester,
    lookup: Arc<dyn Lookup>,
    folder: Arc<Path>,
}

impl RegistryReader {
    /// `folder` is where temporary folders are created: it has to exist. One call needs as much space there as
    /// [`Bounds::max_pack_bytes`], and a little more.
    pub fn new(allow: AllowList, folder: PathBuf) -> Self {
        Self::with_lookup(allow, folder, SystemLookup)
    }

    /// A reader that resolves names in another way than the operating system.
    pub fn with_lookup(allow: AllowList, folder: PathBuf, lookup: impl Lookup) -> Self {
        let requester = Requester::operator(Purpose::Registry);
        Self { allow: Arc::new(allow), requester, lookup: Arc::new(lookup), folder: folder.into() }
    }

    /// Returns a reader that reads on behalf of another requester.
    pub fn for_requester(&self, requester: Requester) -> Self {
        Self { requester, ..self.clone() }
    }

    /// Lists the tags of a registry. Nothing of them has been verified.
    pub async fn list_tags(&self, source: &Source, bounds: &Bounds) -> Result<Vec<Tag>, RegistryError> {
        let folder = self.temporary_folder()?;
        let git = self.connect(source, bounds, folder.path()).await?;
        let tags = advertised_tags(&git, None).await?;
        if tags.is_empty() {
            check_is_repository(&git).await?;
        }
        Ok(tags)
    }

    /// Fetches the step of one tag. The tag has to refer to `expected`, as [`Self::list_tags`] has returned it: this is
    /// checked before anything is downloaded, and again with what was downloaded.
    pub async fn fetch_step(
        &self,
        source: &Source,
        tag: &StepTag,
        expected: &ObjectId,
        bounds: &Bounds,
    ) -> Result<FetchedStep, RegistryError> {
        let folder = self.temporary_folder()?;
        let git = self.connect(source, bounds, folder.path()).await?;
        let name = tag.to_string();
        let tags = advertised_tags(&git, Some(&name)).await?;
        let advertised = tags.into_iter().find(|tag| tag.name == name);
        let advertised = advertised.ok_or_else(|| RegistryError::TagMissing(name.clone()))?;
        check_object(tag, expected, advertised.object)?;
        let tag_object = fetch(&git, tag, expected).await?;
        let commit = match &tag_object {
            Some(bytes) => tagged_commit(tag, bytes)?,
            None => expected.clone(),
        };
        let files = read_files(&git, tag, &commit).await?;
        let archive = Archive::pack(&files).map_err(RegistryError::Folder)?;
        Ok(FetchedStep { commit, tag_object, files, archive })
    }

    /// Returns the folder in which temporary folders are created.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn temporary_folder(&self) -> Result<TempDir, RegistryError> {
        tempfile::Builder::new().prefix("registry-").tempdir_in(&self.folder).map_err(RegistryError::Folder)
    }

    /// Checks the addresses of the registry's host. Nothing is connected to.
    async fn connect<'a>(
        &self,
        source: &'a Source,
        bounds: &'a Bounds,
        folder: &Path,
    ) -> Result<Git<'a>, RegistryError> {
        let deadline = Instant::now() + bounds.timeout;
        let pinned = pin_addresses(source.url(), &self.allow, self.lookup.as_ref(), &self.requester);
        let addresses = tokio::time::timeout_at(deadline, pinned)
            .await
            .map_err(|_| RegistryError::Timeout(bounds.timeout))??;
        let pin = source.pin(&addresses);
        Ok(Git { source, bounds, pin, folder: folder.to_owned(), deadline })
    }
}

/// Lists all tags, or the one with this name. With a name the result can contain others that end with it.
async fn advertised_tags(git: &Git<'_>, name: Option<&str>) -> Result<Vec<Tag>, RegistryError> {
    let Bounds { max_tags, max_tag_list_bytes: max_bytes, .. } = *git.bounds;
    let too_many = || RegistryError::TooManyTags { max_tags, max_bytes };
    let patterns = name.map(|name| [format!("refs/tags/{name}"), format!("refs/tags/{name}^{{}}")]);
    let mut arguments = vec!["ls-remote", "--quiet", "--tags", "--", git.source.url()];
    arguments.extend(patterns.iter().flatten().map(String::as_str));
    let call = Call { arguments: &arguments, input: b"", max_output_bytes: max_bytes };
    let printed = git.transfer(call).await.map_err(|failure| failure.or_limit(too_many()))?;
    let tags = parse_list(&printed).ok_or(RegistryError::Protocol)?;
    if tags.len() > max_tags { Err(too_many()) } else { Ok(tags) }
}

/// git takes any web page for the list of a repository without tags. A repository with a commit has a `HEAD`.
async fn check_is_repository(git: &Git<'_>) -> Result<(), RegistryError> {
    let printed = git.transfer(short_call(&["ls-remote", "--quiet", "--", git.source.url(), "HEAD"])).await;
    let printed = printed.map_err(|failure| failure.or_limit(RegistryError::Protocol))?;
    if printed.is_empty() { Err(RegistryError::Protocol) } else { Ok(()) }
}

fn check_object(tag: &StepTag, expected: &ObjectId, found: ObjectId) -> Result<(), RegistryError> {
    if found == *expected {
        return Ok(());
    }
    Err(RegistryError::TagMoved { tag: tag.to_string(), expected: expected.clone(), found })
}

/// Fetches the tag into a new repository, without its history. Returns the tag object of an annotated tag.
async fn fetch(git: &Git<'_>, tag: &StepTag, expected: &ObjectId) -> Result<Option<Vec<u8>>, RegistryError> {
    let too_large = || RegistryError::TooLarge { max_bytes: git.bounds.max_pack_bytes };
    let limited = |failure: GitFailure| failure.or_limit(too_large());
    let format = format!("--object-format={}", expected.format());
    git.read(short_call(&["init", "--quiet", "--bare", "--template=", &format])).await.map_err(limited)?;
    let refspec = format!("+refs/tags/{tag}:{FETCHED_REF}");
    let options = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--depth=1"];
    let arguments = [&["fetch"][..], &options, &["--", git.source.url(), &refspec]].concat();
    git.transfer(short_call(&arguments)).await.map_err(limited)?;

    let format = "--format=%(objectname) %(objecttype) %(objectsize)";
    let printed = git.read(short_call(&["for-each-ref", format, FETCHED_REF])).await.map_err(limited)?;
    let printed = String::from_utf8(printed).map_err(|_| RegistryError::Protocol)?;
    let mut fields = printed.trim_end().split(' ');
    let (object, kind, size) = (fields.next(), fields.next(), fields.next());
    let object = object.and_then(|text| text.parse().ok()).ok_or(RegistryError::Protocol)?;
    check_object(tag, expected, object)?;
    match kind {
        Some("commit") => return Ok(None),
        Some("tag") => {}
        _ => return Err(RegistryError::NotACommit(tag.to_string())),
    }
    let size: u64 = size.and_then(|text| text.parse().ok()).ok_or(RegistryError::Protocol)?;
    if size > MAX_TAG_OBJECT_BYTES {
        return Err(RegistryError::TagObject { tag: tag.to_string() });
    }
    let printed = read_objects(git, &[expected], size).await?;
    let (bytes, _) = split_object(&printed, expected.as_str(), "tag", size).ok_or(RegistryError::Protocol)?;
    Ok(Some(bytes.to_vec()))
}

fn short_call<'a>(arguments: &'a [&'a str]) -> Call<'a> {
    Call { arguments, input: b"", max_output_bytes: SHORT_OUTPUT_BYTES }
}

/// Returns the commit that a tag object refers to. The object names its tag: under the name of another tag, it would
/// make an old version look like a new one, with a valid signature.
fn tagged_commit(tag: &StepTag, bytes: &[u8]) -> Result<ObjectId, RegistryError> {
    let parsed = TagObject::parse(bytes).filter(|parsed| parsed.name == tag.to_string());
    let parsed = parsed.ok_or_else(|| RegistryError::TagObject { tag: tag.to_string() })?;
    if parsed.kind == "commit" { Ok(parsed.object) } else { Err(RegistryError::NotACommit(tag.to_string())) }
}

async fn read_files(git: &Git<'_>, tag: &StepTag, commit: &ObjectId) -> Result<Vec<StepFile>, RegistryError> {
    let folder = format!("{commit}:{}", tag.name);
    let arguments = ["ls-tree", "-r", "-z", "-l", "--full-tree", &folder];
    let max_output_bytes = max_list_bytes(git.bounds);
    let printed = git.read(Call { arguments: &arguments, input: b"", max_output_bytes }).await;
    let printed = printed.map_err(|failure| match failure {
        // The commit is there, so that only the folder can be missing.
        GitFailure::Registry(RegistryError::Git { .. }) => RegistryError::NoFolder(tag.name.clone()),
        other => other.or_limit(RegistryError::TooManyFiles(git.bounds.max_files)),
    })?;
    let entries = parse_tree(&printed, &tag.name, git.bounds)?;
    let total = entries.iter().map(|entry| entry.size).sum();
    let objects: Vec<&ObjectId> = entries.iter().map(|entry| &entry.object).collect();
    let printed = read_objects(git, &objects, total).await?;
    parse_contents(&printed, entries).ok_or(RegistryError::Protocol)
}

async fn read_objects(git: &Git<'_>, objects: &[&ObjectId], total: u64) -> Result<Vec<u8>, RegistryError> {
    let input: String = objects.iter().map(|object| format!("{object}\n")).collect();
    let max_output_bytes = max_batch_bytes(objects.len(), total);
    let call = Call { arguments: &["cat-file", "--batch"], input: input.as_bytes(), max_output_bytes };
    let limit = RegistryError::StepTooLarge(git.bounds.max_step_bytes);
    git.read(call).await.map_err(|failure| failure.or_limit(limit))
}
