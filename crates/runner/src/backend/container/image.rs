//! Images: pulled if they are not there.

use bollard::Docker;
use bollard::errors::Error;
use bollard::query_parameters::CreateImageOptionsBuilder;
use futures_util::TryStreamExt;

use crate::backend::{BackendError, NotReady};

/// Nothing of the registry is asked about an image that is there: what a tag means is decided when the pipeline is
/// planned, not by each runner for itself.
pub(super) async fn provide(docker: &Docker, image: &str) -> Result<(), NotReady> {
    match docker.inspect_image(image).await {
        Ok(_) => return Ok(()),
        Err(Error::DockerResponseServerError { status_code: 404, .. }) => {}
        Err(error) => {
            return Err(BackendError::new(&format!("the image {image} could not be looked up"), error).into());
        }
    }
    tracing::info!(image, "pulling");
    let options = CreateImageOptionsBuilder::new().from_image(&with_tag(image)).build();
    docker.create_image(Some(options), None, None).try_for_each(|_| std::future::ready(Ok(()))).await.map_err(
        |error| {
            let permanent = is_permanent(image, &error);
            let error = BackendError::new(&format!("the image {image} could not be pulled"), error);
            if permanent { NotReady::ImageNotFound(error.to_string()) } else { error.into() }
        },
    )
}

/// What registries answer, in the words of Docker and Podman, for an image that they don't have or don't give out.
const DEFINITE: [&str; 8] = [
    "manifest unknown",
    "name unknown",
    "not found",
    "no such image",
    "does not exist",
    "unauthorized",
    "denied",
    "invalid reference format",
];

/// A registry that can't be reached may be back soon. But `localhost/…` stands for images that were built on this machine.
fn is_permanent(image: &str, error: &Error) -> bool {
    if image.starts_with("localhost/") {
        return true;
    }
    match error {
        Error::DockerResponseServerError { status_code: 400 | 401 | 403 | 404, .. } => true,
        Error::DockerResponseServerError { message, .. } => is_definite(message),
        Error::DockerStreamError { error } => is_definite(error),
        _ => false,
    }
}

fn is_definite(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    // A name that can't be resolved is `no such host`, and may be for a moment only.
    !words.contains("no such host") && DEFINITE.iter().any(|known| words.contains(known))
}

/// Without a tag the engine would pull every one of them.
fn with_tag(image: &str) -> String {
    let name = image.rsplit_once('/').map_or(image, |(_, name)| name);
    if name.contains([':', '@']) { image.to_owned() } else { format!("{image}:latest") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_registry_does_not_have_stays_so_and_one_that_is_away_may_come_back() {
        for (words, definite) in [
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
            assert_eq!(is_definite(words), definite, "{words}");
        }
        assert!(is_permanent("localhost/app:1", &Error::RequestTimeoutError));
        assert!(!is_permanent("registry.test/app:1", &Error::RequestTimeoutError));
    }

    #[test]
    fn a_name_without_a_tag_gets_one_and_a_port_is_no_tag() {
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
