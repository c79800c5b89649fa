//! Pulls missing images and resolves them to a digest.

use bollard::Docker;
use bollard::errors::Error;
use bollard::query_parameters::CreateImageOptionsBuilder;
use futures_util::TryStreamExt;
use greenroom_api_types::runner::CredentialKind;

use super::private_images::PrivateImages;
use super::registry;
use crate::backend::{BackendError, Image, NotReady};
use crate::credential::{Credential, Credentials};

/// Resolves an image and pulls it if it is missing. An image that exists on this machine is not compared with
/// the registry, so a tag may refer to an older image here than on another runner. The digest records which
/// image a step used. All steps of the job use the image that the name refers to now.
///
/// An image that was pulled with a credential is pulled again, so that the registry decides whether this job may
/// use it as well.
pub(super) async fn provide(
    docker: &Docker,
    image: &str,
    private: &PrivateImages,
    credentials: &impl Credentials,
) -> Result<Image, NotReady> {
    if let Some(found) = inspect(docker, image).await? {
        if !found.repositories.iter().any(|name| private.contains(name)) {
            return Ok(found.image);
        }
        if !found.repositories.iter().any(|name| is_named(name, repository(image))) {
            // By its id, which is requested from no registry.
            let error = format!("the image {image} is private: use its name with the registry");
            return Err(NotReady::ImageNotFound(BackendError::message(error)));
        }
    }
    match registry::host(image) {
        Some(host) => match credentials.get(CredentialKind::Registry, &host, None).await? {
            Some(credential) => pull_private(docker, image, (&host, &credential), private).await?,
            None => pull(docker, image).await?,
        },
        None => pull(docker, image).await?,
    }
    let vanished = || BackendError::message(format!("the image {image} was pulled, but does not exist"));
    Ok(inspect(docker, image).await?.ok_or_else(vanished)?.image)
}

/// An image on this machine.
struct Found {
    image: Image,
    /// All of its names, without tag and digest.
    repositories: Vec<String>,
}

async fn inspect(docker: &Docker, image: &str) -> Result<Option<Found>, BackendError> {
    match docker.inspect_image(image).await {
        Ok(found) => {
            let id = found.id.unwrap_or_else(|| image.to_owned());
            let digests = found.repo_digests.unwrap_or_default();
            let digest = digest(image, &id, &digests);
            let names = digests.iter().chain(found.repo_tags.iter().flatten());
            let repositories = names.map(|name| repository(name).to_owned()).collect();
            Ok(Some(Found { image: Image { reference: id, digest }, repositories }))
        }
        Err(Error::DockerResponseServerError { status_code: 404, .. }) => Ok(None),
        Err(error) => Err(BackendError::new(format!("the image {image} could not be inspected"), error)),
    }
}

async fn pull_private(
    docker: &Docker,
    image: &str,
    (host, credential): (&str, &Credential),
    private: &PrivateImages,
) -> Result<(), NotReady> {
    private
        .add(repository(image))
        .map_err(|error| BackendError::new("could not record that an image is private", error))?;
    pull(&registry::with_credential(docker, host, credential), image).await
}

async fn pull(docker: &Docker, image: &str) -> Result<(), NotReady> {
    tracing::info!(image, "pulling");
    let options = CreateImageOptionsBuilder::new().from_image(&with_tag(image)).build();
    docker.create_image(Some(options), None, None).try_for_each(|_| std::future::ready(Ok(()))).await.map_err(
        |error| {
            let permanent = is_permanent(image, &error);
            let error = BackendError::new(format!("the image {image} could not be pulled"), error);
            if permanent { NotReady::ImageNotFound(error) } else { error.into() }
        },
    )
}

/// Returns the digest of the image's manifest in the repository of its name, or of its configuration if the
/// image has never been in a registry.
fn digest(image: &str, id: &str, repo_digests: &[String]) -> String {
    let parts =
        |known: &String| known.split_once('@').map(|(name, digest)| (name.to_owned(), digest.to_owned()));
    let known: Vec<(String, String)> = repo_digests.iter().filter_map(parts).collect();
    let named = repository(image);
    let own = known.iter().find(|(name, _)| is_named(name, named)).or_else(|| known.first());
    own.map_or_else(|| id.to_owned(), |(_, digest)| digest.clone())
}

/// Returns whether an image's full name is what a shorter one refers to.
fn is_named(full: &str, name: &str) -> bool {
    full == name || full.ends_with(&format!("/{name}"))
}

/// Returns the name without tag and digest.
fn repository(image: &str) -> &str {
    let image = image.split('@').next().unwrap_or(image);
    let start = image.rfind('/').map_or(0, |at| at + 1);
    match image[start..].find(':') {
        Some(tag) => &image[..start + tag],
        None => image,
    }
}

/// Parts of the error messages of Docker and Podman for an image that a registry does not have, or does not
/// serve to this runner.
const PERMANENT_ERRORS: [&str; 8] = [
    "manifest unknown",
    "name unknown",
    "not found",
    "no such image",
    "does not exist",
    "unauthorized",
    "denied",
    "invalid reference format",
];

/// Returns whether a retry can't help. An unreachable registry may be back soon, but `localhost/…` is only
/// for images that were built on this machine.
fn is_permanent(image: &str, error: &Error) -> bool {
    if image.starts_with("localhost/") {
        return true;
    }
    match error {
        Error::DockerResponseServerError { status_code: 400 | 401 | 403 | 404, .. } => true,
        Error::DockerResponseServerError { message, .. } => is_permanent_message(message),
        Error::DockerStreamError { error } => is_permanent_message(error),
        _ => false,
    }
}

fn is_permanent_message(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    // `no such host` is a failed name resolution, which may be transient.
    !message.contains("no such host") && PERMANENT_ERRORS.iter().any(|known| message.contains(known))
}

/// Adds `:latest`, because without a tag the engine would pull all tags.
fn with_tag(image: &str) -> String {
    let name = image.rsplit_once('/').map_or(image, |(_, name)| name);
    if name.contains([':', '@']) { image.to_owned() } else { format!("{image}:latest") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_images_are_permanent_and_unreachable_registries_are_transient() {
        for (message, permanent) in [
            ("reading manifest 1 in docker.io/team/app: manifest unknown", true),
            (
                "pull access denied for team/app, repository does not exist or may require 'docker login'",
                true,
            ),
            ("unable to retrieve auth token: invalid username/password: unauthorized", true),
            ("Get \"https://registry.test/v2/\": dial tcp: connect: connection refused", false),
            ("dial tcp: lookup registry.test: no such host", false),
            ("net/http: TLS handshake timeout", false),
            ("received unexpected HTTP status: 503 Service Unavailable", false),
        ] {
            assert_eq!(is_permanent_message(message), permanent, "{message}");
        }
        assert!(is_permanent("localhost/app:1", &Error::RequestTimeoutError));
        assert!(!is_permanent("registry.test/app:1", &Error::RequestTimeoutError));
    }

    #[test]
    fn the_digest_is_that_of_the_named_repository() {
        let known = ["docker.io/library/alpine@sha256:aa", "registry.test:5000/team/app@sha256:bb"];
        let known = known.map(str::to_owned);
        for (image, expected) in [
            ("alpine", "sha256:aa"),
            ("alpine:3.20", "sha256:aa"),
            ("registry.test:5000/team/app:1", "sha256:bb"),
            ("registry.test:5000/team/app", "sha256:bb"),
            ("team/app@sha256:bb", "sha256:bb"),
            // A name that the image only has on this machine.
            ("mine", "sha256:aa"),
        ] {
            assert_eq!(digest(image, "sha256:id", &known), expected, "{image}");
        }
        assert_eq!(digest("alpine", "sha256:id", &[]), "sha256:id");
    }

    #[test]
    fn a_name_without_a_tag_gets_latest_and_a_port_is_not_a_tag() {
        for (image, full) in [
            ("alpine", "alpine:latest"),
            ("alpine:3.20", "alpine:3.20"),
            ("registry.test:5000/team/app", "registry.test:5000/team/app:latest"),
            ("registry.test:5000/team/app:1", "registry.test:5000/team/app:1"),
            ("team/app@sha256:00", "team/app@sha256:00"),
        ] {
            assert_eq!(with_tag(image), full);
        }
    }
}
