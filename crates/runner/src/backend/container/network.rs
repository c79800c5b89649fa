//! Creates a bridge network per slot of the runner, so that concurrent jobs never share one.
//!
//! Docker isolates user-defined bridge networks from each other; Podman does so with the option `isolate`,
//! which Docker ignores. Podman's firewall rules for it depend on more than the network itself: netavark,
//! with iptables, removes the rule for all isolated networks when any of them loses its last container. So
//! each network keeps a container that does nothing, the holder, until the runner ends. It is created from
//! the image of some job, but runs no program of it, because that would be in the network of later jobs.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use bollard::errors::Error;
use bollard::models::{
    ContainerCreateBody, ContainerSummaryStateEnum, HealthConfig, HostConfig, HostConfigLogConfig,
    NetworkCreateRequest,
};
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, ListContainersOptionsBuilder, ListNetworksOptionsBuilder,
    RemoveContainerOptionsBuilder,
};

use super::isolation::ENTRY;
use super::{Container, running};
use crate::backend::{BackendError, Result};

/// A container's label with the number of its slot.
pub(super) const SLOT_LABEL: &str = "greenroom.slot";
/// A container's label that marks the holder of a slot's network. Always set, because an image can have
/// labels itself.
pub(super) const HOLDER_LABEL: &str = "greenroom.network-holder";
const HOLDER_MEMORY_BYTES: i64 = 32 * 1024 * 1024;
const HOLDER_PIDS: i64 = 8;

/// Returns a short text that differs between the runners of one machine. It is part of the names of networks
/// and of their bridges, which may have at most 15 characters.
pub(super) fn runner_hash(runner: &str, work_dir: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    (runner, work_dir).hash(&mut hasher);
    format!("{:08x}", hasher.finish() >> 32)
}

impl Container {
    pub(super) fn network_name(&self, slot: u32) -> String {
        format!("greenroom-{}-{slot}", self.runner_hash)
    }

    /// Creates the slot's network if it does not exist, and its holder from an image that exists on this
    /// machine.
    pub(super) async fn create_network(&self, slot: u32, image: &str) -> Result<()> {
        let failed = |error| BackendError::new("could not create the job's network", error);
        if !self.own_networks().await.map_err(failed)?.contains(&self.network_name(slot)) {
            self.create_slot_network(slot).await.map_err(failed)?;
        }
        self.hold_network(slot, image).await.map_err(failed)
    }

    /// Removes the networks with this runner's labels. Their containers have to be gone.
    pub(super) async fn remove_networks(&self) -> Result<()> {
        let failed = |error| BackendError::new("could not remove this runner's networks", error);
        for name in self.own_networks().await.map_err(failed)? {
            tracing::info!(network = name, "removing a network of this runner");
            running::unless_gone(self.docker.remove_network(&name).await).map_err(failed)?;
        }
        Ok(())
    }

    /// Removes all containers that an earlier job may have left in the slot. Returns whether the slot's
    /// network exists with a running holder.
    pub(super) async fn clear_slot(&self, slot: u32) -> Result<bool> {
        let failed = |error| BackendError::new("could not clear the job's slot", error);
        let mut labels = self.label_filters();
        labels.push(format!("{SLOT_LABEL}={slot}"));
        let filters = HashMap::from([("label", labels)]);
        let options = ListContainersOptionsBuilder::new().all(true).filters(&filters).build();
        let mut is_held = false;
        for found in self.docker.list_containers(Some(options)).await.map_err(failed)? {
            let is_holder = found
                .labels
                .is_some_and(|labels| labels.get(HOLDER_LABEL).is_some_and(|value| value == "true"));
            if is_holder && found.state == Some(ContainerSummaryStateEnum::RUNNING) {
                is_held = true;
                continue;
            }
            let Some(id) = found.id else { continue };
            tracing::warn!(
                container = id,
                slot,
                "removing a container that an earlier job has left in this slot"
            );
            let force = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
            running::unless_gone(self.docker.remove_container(&id, Some(force)).await).map_err(failed)?;
        }
        Ok(is_held)
    }

    /// Returns the names of the networks with this runner's labels.
    async fn own_networks(&self) -> std::result::Result<Vec<String>, Error> {
        let filters = HashMap::from([("label", self.label_filters())]);
        let options = ListNetworksOptionsBuilder::new().filters(&filters).build();
        let own = self.labels();
        let found = self.docker.list_networks(Some(options)).await?;
        // Filtered again, because an engine that does not support the filter returns all networks.
        let is_own = |labels: &HashMap<String, String>| {
            own.iter().all(|(key, value)| labels.get(key).is_some_and(|found| found == value))
        };
        let found = found.into_iter().filter(|network| network.labels.as_ref().is_some_and(is_own));
        Ok(found.filter_map(|network| network.name).collect())
    }

    async fn create_slot_network(&self, slot: u32) -> std::result::Result<(), Error> {
        let options = [
            ("isolate", "true".to_owned()),
            ("com.docker.network.bridge.name", format!("gr{}{slot}", self.runner_hash)),
        ];
        let request = NetworkCreateRequest {
            name: self.network_name(slot),
            driver: Some("bridge".to_owned()),
            options: Some(options.map(|(key, value)| (key.to_owned(), value)).into()),
            labels: Some(self.labels()),
            ..NetworkCreateRequest::default()
        };
        self.docker.create_network(request).await.map(drop)
    }

    async fn hold_network(&self, slot: u32, image: &str) -> std::result::Result<(), Error> {
        let mut labels = self.labels();
        labels.insert(SLOT_LABEL.to_owned(), slot.to_string());
        labels.insert(HOLDER_LABEL.to_owned(), "true".to_owned());
        let host_config = HostConfig {
            binds: Some(vec![format!("{}:{ENTRY}:ro", self.entry.display())]),
            network_mode: Some(self.network_name(slot)),
            privileged: Some(false),
            cap_drop: Some(vec!["ALL".to_owned()]),
            security_opt: Some(vec!["no-new-privileges".to_owned()]),
            readonly_rootfs: Some(true),
            memory: Some(HOLDER_MEMORY_BYTES),
            memory_swap: Some(HOLDER_MEMORY_BYTES),
            pids_limit: Some(HOLDER_PIDS),
            ulimits: Some(self.isolation.ulimits()),
            init: Some(false),
            log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
            ..HostConfig::default()
        };
        let body = ContainerCreateBody {
            image: Some(image.to_owned()),
            user: self.isolation.user(),
            entrypoint: Some(vec![ENTRY.to_owned()]),
            cmd: Some(vec!["--hold".to_owned()]),
            // Disabled: the image's own health check would be run in this container.
            healthcheck: Some(HealthConfig {
                test: Some(vec!["NONE".to_owned()]),
                ..HealthConfig::default()
            }),
            labels: Some(labels),
            host_config: Some(host_config),
            ..ContainerCreateBody::default()
        };
        let options = CreateContainerOptionsBuilder::new().build();
        let created = self.docker.create_container(Some(options), body).await?;
        self.docker.start_container(&created.id, None).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_bridge_is_short_enough_for_the_kernel() {
        let one = runner_hash("runner", Path::new("/var/lib/one"));
        assert_ne!(one, runner_hash("runner", Path::new("/var/lib/two")));
        assert_ne!(one, runner_hash("other", Path::new("/var/lib/one")));
        // A runner has at most 256 slots.
        assert!(format!("gr{one}255").len() <= 15, "{one}");
    }
}
