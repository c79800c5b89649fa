//! What runners of the campaign leave: archives and outputs with their marks.

use serde_json::{Value, json};

use crate::fault::provenance::archive::{Entry, pack};
use crate::fault::provenance::definition::OUTPUT;
use crate::fault::provenance::mark::{Mark, Medium, Place};
use crate::fault::provenance::pipelines::CHECKED_OUT;
use crate::fault::provenance::runner_api::Job;

/// An artifact of a hostile runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArtifactKind {
    /// Only where the stage declares files, if it does.
    Declared,
    /// Beside the declared paths.
    Outside,
    /// Above the workspace.
    Above,
    /// Git's own folder.
    Git,
    /// The same through a link.
    Link,
    /// A file of the checkout.
    Checkout,
}

impl ArtifactKind {
    pub(super) const ALL: [Self; 6] =
        [Self::Declared, Self::Checkout, Self::Git, Self::Outside, Self::Link, Self::Above];
}

impl Job<'_> {
    pub(super) fn mark(&self, medium: Medium, place: Place) -> Mark {
        let variable = |name: &str| self.variable(name).to_owned();
        Mark {
            pool: variable("POOL"),
            stage: self.stage.clone(),
            purpose: variable("GREENROOM_PURPOSE"),
            environment: variable("GREENROOM_ENVIRONMENT"),
            deployment: self.deployment.clone(),
            medium,
            place,
        }
    }

    pub(super) fn artifact(&self, kind: ArtifactKind) -> Vec<u8> {
        let text = |place: Place| self.mark(Medium::Artifact, place).text();
        let path = Medium::Artifact.path(&self.stage, "");
        let link = format!("out/{}/up", self.stage);
        let through = format!("{link}/description");
        let (outside, git) = (text(Place::Outside), text(Place::Git));
        let (checkout, declared) = (text(Place::Checkout), text(Place::Declared));
        // What is allowed comes last, so that an archive which is refused leaves nothing of it.
        let mut entries = match kind {
            ArtifactKind::Declared => Vec::new(),
            ArtifactKind::Outside => {
                vec![Entry::File { path: "elsewhere/mark", content: outside.as_bytes() }]
            }
            ArtifactKind::Above => {
                vec![Entry::File { path: "../above", content: outside.as_bytes() }]
            }
            ArtifactKind::Git => {
                vec![Entry::File { path: ".git/hooks/post-checkout", content: git.as_bytes() }]
            }
            ArtifactKind::Link => vec![
                Entry::Link { path: &link, target: "../../.git" },
                Entry::File { path: &through, content: git.as_bytes() },
            ],
            ArtifactKind::Checkout => {
                vec![Entry::File { path: CHECKED_OUT.1, content: checkout.as_bytes() }]
            }
        };
        entries.push(Entry::File { path: &path, content: declared.as_bytes() });
        pack(&entries)
    }

    pub(super) fn cache(&self, key: &str, place: Place) -> Vec<u8> {
        let text = self.mark(Medium::Cache, place).text();
        let path = match place {
            Place::Declared | Place::Claimed => Medium::Cache.path(&self.stage, key),
            Place::Outside => "elsewhere/cached".to_owned(),
            Place::Git => ".git/hooks/post-merge".to_owned(),
            Place::Checkout => CHECKED_OUT.1.to_owned(),
        };
        pack(&[Entry::File { path: &path, content: text.as_bytes() }])
    }

    pub(super) fn outputs(&self) -> Value {
        json!({ OUTPUT: self.mark(Medium::Output, Place::Declared).text() })
    }
}
