//! An image that changes under its tag, while the definition and the commit stay.

use anyhow::{Context, ensure};
use greenroom_domain::failure::VerdictKind;

use crate::fault::verdicts::case::{CaseKind, Planted};
use crate::fault::verdicts::deployment::Change;
use crate::fault::verdicts::fixture::{CONTAINER_POOL, PEOPLE, VerdictFixture};
use crate::fault::verdicts::plants::{ENVIRONMENTS, Script};
use crate::parts::containers::{Containers, IMAGE};

/// Plays this many cases, each with another image.
pub(super) async fn play(fixture: &VerdictFixture, count: usize) -> anyhow::Result<Vec<Planted>> {
    let containers = fixture.parts.containers.as_ref().context("there is no container engine")?;
    let mut planted = Vec::new();
    for number in 0..count {
        let cause = fixture.causes.image();
        let pipeline = format!("image-{}", cause.id);
        let image = format!("localhost/{pipeline}:1");
        publish(containers, &image, "").await?;
        fixture.create_pipeline(&pipeline, CONTAINER_POOL, Script::Image(&image)).await?;
        let commit = format!("{:040x}", number + 0x2000);
        let change = Change { person: number % PEOPLE, commit, branch: None };
        let environment = ENVIRONMENTS[number % ENVIRONMENTS.len()];
        let good = fixture.deploy(&pipeline, environment, &change).await?;
        ensure!(good.status == "succeeded", "a good deployment did not succeed: {good:?}");
        publish(containers, &image, cause.text.trim_end()).await?;
        let ended = fixture.deploy(&pipeline, environment, &change).await?;
        ensure!(ended.status == "failed", "a deployment with a broken image has not failed: {ended:?}");
        planted.push(Planted {
            kind: CaseKind::Image,
            expected: VerdictKind::Yours,
            cause: cause.id,
            deployment: ended.deployment,
            step: None,
        });
    }
    Ok(planted)
}

/// Makes an image, or changes what its tag refers to.
async fn publish(containers: &Containers, image: &str, failure: &str) -> anyhow::Result<()> {
    let created = containers.run(&["create", IMAGE, "sh"]).await?;
    let container = String::from_utf8(created)?;
    let variable = format!("ENV FAILURE={failure:?}");
    containers.run(&["commit", "--quiet", "--change", &variable, container.trim(), image]).await?;
    containers.run(&["rm", container.trim()]).await.map(drop)
}
