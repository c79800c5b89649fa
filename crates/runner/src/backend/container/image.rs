//! Images: pulled if they are not there.

use bollard::Docker;
use bollard::errors::Error;
use bollard::query_parameters::CreateImageOptionsBuilder;
use futures_util::TryStreamExt;

use crate::backend::{BackendError, Result};

/// Nothing of the registry is asked about an image that is there: what a tag means is decided when the pipeline is
/// planned, not by each runner for itself.
pub(super) async fn provide(docker: &Docker, image: &str) -> Result<()> {
    match docker.inspect_image(image).await {
        Ok(_) => return Ok(()),
        Err(Error::DockerResponseServerError { status_code: 404, .. }) => {}
        Err(error) => {
            return Err(BackendError::new(&format!("the image {image} could not be looked up"), error));
        }
    }
    tracing::info!(image, "pulling");
    let options = CreateImageOptionsBuilder::new().from_image(&with_tag(image)).build();
    docker
        .create_image(Some(options), None, None)
        .try_for_each(|_| std::future::ready(Ok(())))
        .await
        .map_err(|error| BackendError::new(&format!("the image {image} could not be pulled"), error))
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
