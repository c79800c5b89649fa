//! Reading a log from the API.

use std::time::Duration;

use anyhow::bail;
use reqwest::Method;
use sha2::{Digest, Sha256};

use super::fixture::DeploymentFixture;

const READ_TIMEOUT: Duration = Duration::from_secs(900);

/// Returns length and checksum of the log that the API returns.
pub(crate) async fn read(
    fixture: &DeploymentFixture,
    deployment: &str,
    step: &str,
) -> anyhow::Result<(u64, [u8; 32])> {
    let path = DeploymentFixture::deployment_path(deployment, &format!("/steps/{step}/logs"));
    let mut response =
        fixture.api.request(Method::GET, &path, &fixture.token).timeout(READ_TIMEOUT).send().await?;
    if response.status() != 200 {
        bail!("a log returned {}", response.status());
    }
    let (mut bytes, mut digest) = (0, Sha256::new());
    while let Some(chunk) = response.chunk().await? {
        bytes += chunk.len() as u64;
        digest.update(&chunk);
    }
    Ok((bytes, digest.finalize().into()))
}
