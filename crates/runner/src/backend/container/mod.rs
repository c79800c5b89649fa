//! Runs steps in containers, through the Docker API of Docker or Podman.

mod entrypoint;
mod image;
mod isolation;
mod network;
mod private_images;
mod registry;
mod running;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bollard::query_parameters::{
    CreateContainerOptionsBuilder, ListContainersOptionsBuilder, RemoveContainerOptionsBuilder,
};
use bollard::{API_DEFAULT_VERSION, Docker};
use greenroom_api_types::runner::{Job, Network};

pub use self::isolation::{Isolation, Ulimit};
use self::private_images::PrivateImages;
pub use self::running::ContainerStep;
use super::{Backend, BackendError, Images, NotReady, Result, StepPlan, User};
use crate::credential::Credentials;

/// The timeout of one request to the container engine. Waiting for a container and reading output have none.
const REQUEST_TIMEOUT_SECONDS: u64 = 60;
const PULL_TIMEOUT: Duration = Duration::from_secs(20 * 60);

/// The labels of a runner's containers: its name and its folder, so that two runners of one name on one
/// machine do not remove each other's containers.
const RUNNER_LABEL: &str = "greenroom.runner";
const FOLDER_LABEL: &str = "greenroom.work-dir";
const JOB_LABEL: &str = "greenroom.job";
const STEP_LABEL: &str = "greenroom.step-run";

#[derive(Clone, Debug)]
pub struct Container {
    docker: Docker,
    runner: String,
    work_dir: PathBuf,
    entry: PathBuf,
    isolation: Isolation,
    private_images: Arc<PrivateImages>,
    /// Part of the names of this runner's networks.
    runner_hash: String,
}

impl Container {
    /// Connects to the engine and negotiates the API version. Rejects an entrypoint that would not run in
    /// every image.
    pub async fn connect(
        host: &str,
        runner: &str,
        work_dir: &Path,
        entry: &Path,
        isolation: Isolation,
    ) -> Result<Self> {
        let entry = entrypoint::install(entry, work_dir)?;
        let failed = |error| BackendError::new("the container engine cannot be reached", error);
        let docker = if host.starts_with("unix://") || host.starts_with('/') {
            Docker::connect_with_unix(host, REQUEST_TIMEOUT_SECONDS, API_DEFAULT_VERSION)
        } else {
            Docker::connect_with_http(host, REQUEST_TIMEOUT_SECONDS, API_DEFAULT_VERSION)
        };
        let docker = docker.map_err(failed)?.negotiate_version().await.map_err(failed)?;
        let work_dir = work_dir.to_owned();
        let runner_hash = network::runner_hash(runner, &work_dir);
        let private_images = PrivateImages::load(&work_dir)
            .map_err(|error| BackendError::new("the list of private images can't be read", error))?;
        let private_images = Arc::new(private_images);
        let runner = runner.to_owned();
        Ok(Container { docker, runner, work_dir, entry, isolation, private_images, runner_hash })
    }

    fn labels(&self) -> HashMap<String, String> {
        HashMap::from([
            (RUNNER_LABEL.to_owned(), self.runner.clone()),
            (FOLDER_LABEL.to_owned(), self.work_dir.display().to_string()),
        ])
    }

    /// Returns the filters that select the containers and networks of this runner.
    fn label_filters(&self) -> Vec<String> {
        self.labels().iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    /// Pulls the missing images of a job's steps, and resolves all of them.
    async fn images(
        &self,
        job: &Job,
        credentials: &impl Credentials,
    ) -> std::result::Result<Images, NotReady> {
        let mut images = Images::new();
        for step in &job.steps {
            if images.contains_key(&step.image) {
                continue;
            }
            let provide = image::provide(&self.docker, &step.image, &self.private_images, credentials);
            let image = tokio::time::timeout(PULL_TIMEOUT, provide).await.map_err(|_| {
                BackendError::message(format!("the image {} took too long to pull", step.image))
            })??;
            images.insert(step.image.clone(), image);
        }
        Ok(images)
    }

    fn network_mode(&self, plan: &StepPlan) -> String {
        match plan.network {
            Network::None => "none".to_owned(),
            Network::Bridge => self.network_name(plan.slot),
            Network::Host => "host".to_owned(),
        }
    }
}

impl Backend for Container {
    type Running = ContainerStep;

    async fn sweep(&self) -> Result<()> {
        let filters = HashMap::from([("label", self.label_filters())]);
        let options = ListContainersOptionsBuilder::new().all(true).filters(&filters).build();
        let failed = |error| BackendError::new("could not remove this runner's old containers", error);
        for left in self.docker.list_containers(Some(options)).await.map_err(failed)? {
            let Some(id) = left.id else { continue };
            tracing::info!(container = id, "removing a container that this runner has left");
            let force = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
            running::unless_gone(self.docker.remove_container(&id, Some(force)).await).map_err(failed)?;
        }
        self.remove_networks().await
    }

    async fn ready(
        &self,
        job: &Job,
        slot: u32,
        credentials: &impl Credentials,
    ) -> std::result::Result<Images, NotReady> {
        // Checked again, because the file may have been replaced since the runner started.
        entrypoint::check(&self.entry)?;
        if job.network != Network::Bridge {
            return self.images(job, credentials).await;
        }
        let clear = async { self.clear_slot(slot).await.map_err(NotReady::from) };
        let (images, is_held) = tokio::try_join!(self.images(job, credentials), clear)?;
        if let (false, Some(image)) = (is_held, images.values().next()) {
            self.create_network(slot, &image.reference).await?;
        }
        Ok(images)
    }

    async fn prepare(&self, plan: &StepPlan) -> Result<ContainerStep> {
        let mut labels = self.labels();
        labels.insert(JOB_LABEL.to_owned(), plan.job_id.clone());
        labels.insert(STEP_LABEL.to_owned(), plan.step_run_id.clone());
        labels.insert(network::SLOT_LABEL.to_owned(), plan.slot.to_string());
        labels.insert(network::HOLDER_LABEL.to_owned(), "false".to_owned());
        let body = self.isolation.container(plan, &self.entry, labels, self.network_mode(plan));
        let options = CreateContainerOptionsBuilder::new().build();
        let created = self.docker.create_container(Some(options), body).await;
        let created = created.map_err(|error| BackendError::new("could not create the container", error))?;
        Ok(ContainerStep::new(self.docker.clone(), created.id))
    }

    fn owner(&self) -> Option<User> {
        self.isolation.user
    }
}
