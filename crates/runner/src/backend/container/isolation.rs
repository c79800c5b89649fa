//! The configuration of a step's container, which isolates the step.

use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr;

use bollard::models::{ContainerCreateBody, HostConfig, HostConfigLogConfig, ResourcesUlimits};

use crate::backend::{
    INPUTS_FILE_VARIABLE, LIVENESS_FILE, OUTPUT_FILE, OUTPUT_VARIABLE, STEP_FOLDER_VARIABLE, StepPlan, User,
};

const WORKSPACE: &str = "/workspace";
/// The path of the entrypoint in a container.
pub(super) const ENTRY: &str = "/greenroom/entry";
const CONTROL: &str = "/greenroom/control";
const OUTPUT: &str = "/greenroom/output";
/// The files of a step of a registry, and its inputs.
const STEP: &str = "/greenroom/step";
const INPUTS: &str = "/greenroom/inputs.json";
/// The folder of values that are files.
const VALUES: &str = "/greenroom/secrets";
/// The entrypoint accepts no more values than that.
const VALUES_BYTES: i64 = 1024 * 1024;

#[derive(Clone, Debug)]
pub struct Isolation {
    pub memory_bytes: i64,
    /// In thousandths of a CPU.
    pub cpu_thousandths: i64,
    pub pids: i64,
    /// The size of `/tmp`, which counts as memory.
    pub tmp_bytes: i64,
    pub ulimits: Vec<Ulimit>,
    /// The step's user; the image's user if `None`.
    pub user: Option<User>,
}

impl FromStr for User {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || format!("`{text}` is not a user and a group by number, such as 1000:1000");
        let (user, group) = text.split_once(':').ok_or_else(invalid)?;
        Ok(User { user: user.parse().map_err(|_| invalid())?, group: group.parse().map_err(|_| invalid())? })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ulimit {
    name: String,
    soft: i64,
    hard: i64,
}

impl FromStr for Ulimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || format!("`{text}` is not a limit such as nofile=4096:4096");
        let (name, numbers) = text.split_once('=').ok_or_else(invalid)?;
        let (soft, hard) = numbers.split_once(':').unwrap_or((numbers, numbers));
        let number = |text: &str| text.parse().map_err(|_| invalid());
        Ok(Ulimit { name: name.to_owned(), soft: number(soft)?, hard: number(hard)? })
    }
}

impl Isolation {
    pub(super) fn container(
        &self,
        plan: &StepPlan,
        entry: &Path,
        labels: HashMap<String, String>,
        network_mode: String,
    ) -> ContainerCreateBody {
        ContainerCreateBody {
            image: Some(plan.image.clone()),
            user: self.user(),
            env: Some(environment(plan)),
            // Both are set, so that the image's own entrypoint and command are not used.
            entrypoint: Some(vec![ENTRY.to_owned()]),
            cmd: Some(command(plan)),
            working_dir: Some(WORKSPACE.to_owned()),
            labels: Some(labels),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            // The entrypoint reads the step's values from it. It ends with the runner's connection.
            open_stdin: Some(true),
            stdin_once: Some(true),
            tty: Some(false),
            host_config: Some(self.host_config(plan, entry, network_mode)),
            ..ContainerCreateBody::default()
        }
    }

    /// Returns the user in the engine's format.
    pub(super) fn user(&self) -> Option<String> {
        self.user.map(|User { user, group }| format!("{user}:{group}"))
    }

    pub(super) fn ulimits(&self) -> Vec<ResourcesUlimits> {
        self.ulimits.iter().map(ulimit).collect()
    }

    fn host_config(&self, plan: &StepPlan, entry: &Path, network_mode: String) -> HostConfig {
        let folders = &plan.folders;
        let bind = |from: &Path, to: &str, mode: &str| format!("{}:{to}:{mode}", from.display());
        let mut binds = vec![
            bind(&folders.workspace, WORKSPACE, "rw"),
            bind(&folders.output, OUTPUT, "rw"),
            bind(&folders.control, CONTROL, "ro"),
            bind(entry, ENTRY, "ro"),
        ];
        if let Some(files) = &folders.registry_step {
            binds.extend([bind(&files.folder, STEP, "ro"), bind(&files.inputs, INPUTS, "ro")]);
        }
        HostConfig {
            binds: Some(binds),
            privileged: Some(false),
            cap_drop: Some(vec!["ALL".to_owned()]),
            security_opt: Some(vec!["no-new-privileges".to_owned()]),
            readonly_rootfs: Some(true),
            tmpfs: Some(HashMap::from([
                ("/tmp".to_owned(), format!("rw,exec,nosuid,nodev,mode=1777,size={}", self.tmp_bytes)),
                // The number of the image's user is not known here, so everyone may write.
                (VALUES.to_owned(), format!("rw,noexec,nosuid,nodev,mode=1777,size={VALUES_BYTES}")),
            ])),
            memory: Some(self.memory_bytes),
            // Equal to the memory limit, which means no swap.
            memory_swap: Some(self.memory_bytes),
            nano_cpus: Some(self.cpu_thousandths.saturating_mul(1_000_000)),
            pids_limit: Some(self.pids),
            ulimits: Some(self.ulimits()),
            network_mode: Some(network_mode),
            // The entrypoint is the first process and reaps orphans itself.
            init: Some(false),
            // The output is streamed to the server; a second log would only fill this machine's disk.
            log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
            ..HostConfig::default()
        }
    }
}

fn ulimit(limit: &Ulimit) -> ResourcesUlimits {
    ResourcesUlimits { name: Some(limit.name.clone()), soft: Some(limit.soft), hard: Some(limit.hard) }
}

fn command(plan: &StepPlan) -> Vec<String> {
    let silence = plan.silence.as_secs_f64().to_string();
    let script = format!("{CONTROL}/{}", plan.folders.script);
    let liveness_file = format!("{CONTROL}/{LIVENESS_FILE}");
    ["--alive", &liveness_file, "--silence", &silence, "--values", VALUES, "--", "/bin/sh", "-e", &script]
        .map(str::to_owned)
        .to_vec()
}

fn environment(plan: &StepPlan) -> Vec<String> {
    // The root file system is read-only, and many programs need a writable home.
    let home = ("HOME".to_owned(), "/tmp".to_owned());
    let output = (OUTPUT_VARIABLE.to_owned(), format!("{OUTPUT}/{OUTPUT_FILE}"));
    let mut all: HashMap<String, String> = HashMap::from([home]);
    all.extend(plan.variables.clone());
    all.extend([output]);
    if plan.folders.registry_step.is_some() {
        let paths = [(STEP_FOLDER_VARIABLE, STEP), (INPUTS_FILE_VARIABLE, INPUTS)];
        all.extend(paths.map(|(name, path)| (name.to_owned(), path.to_owned())));
    }
    all.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_consists_of_two_numbers() {
        assert_eq!("1000:100".parse(), Ok(User { user: 1000, group: 100 }));
        for invalid in ["", "1000", "root:root", "1:2:3", "-1:0"] {
            assert!(invalid.parse::<User>().is_err(), "{invalid}");
        }
    }

    #[test]
    fn a_ulimit_has_one_or_two_numbers() {
        let limit = |soft, hard| Ok(Ulimit { name: "nofile".to_owned(), soft, hard });
        assert_eq!("nofile=1024:4096".parse(), limit(1024, 4096));
        assert_eq!("nofile=1024".parse(), limit(1024, 1024));
        for invalid in ["nofile", "nofile=", "nofile=many", "nofile=1:2:3"] {
            assert!(invalid.parse::<Ulimit>().is_err(), "{invalid}");
        }
    }
}
