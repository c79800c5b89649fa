//! The isolation of a step in a container.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use greenroom_api_types::runner::{Network, StepEndStatus};
use greenroom_runner::backend::{Folders, StepPlan};

use crate::engine::{Engine, IMAGE};
use crate::support::jobs::job;
use crate::support::server::Server;

/// Returns the plan of a step without a job, in this folder.
pub fn plan(folder: &Path, run: &str, silence_seconds: u64) -> StepPlan {
    let part = |name: &str| {
        let path = folder.join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    };
    let folders = Folders {
        workspace: part("workspace"),
        control: part("control"),
        script: "step.sh".to_owned(),
        output: part("output"),
        home: part("home"),
        registry_step: None,
    };
    std::fs::write(folders.control.join("alive"), "1").unwrap();
    std::fs::write(folders.control.join("step.sh"), run).unwrap();
    StepPlan {
        job_id: "job_1".to_owned(),
        step_run_id: "stp_1".to_owned(),
        slot: 0,
        image: IMAGE.to_owned(),
        run: run.to_owned(),
        network: Network::None,
        variables: BTreeMap::new(),
        silence: Duration::from_secs(silence_seconds),
        folders,
    }
}

/// Runs a script in a container. Returns its output and exit code.
async fn output_and_exit_code(script: &str, user: Option<&str>) -> (String, Option<i32>) {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let user = user.map(|user| user.parse().unwrap());
    let runner = engine.runner(server.port, |isolation| isolation.user = user).await;
    server.give(job(&[("check", script)]));
    assert_eq!(server.until_complete().await.error, None);
    let found = server.recorded(|record| (record.log_text("check"), record.end("check").exit_code));
    runner.finish().await;
    found
}

#[tokio::test]
async fn heavy_a_step_has_no_privileges() {
    let script = "\
        touch /etc/x 2>/dev/null && echo 'writes the root file system'
        touch /greenroom/control/x 2>/dev/null && echo 'writes the control folder'
        (echo x > /greenroom/entry) 2>/dev/null && echo 'writes the entrypoint'
        mount -t tmpfs none /tmp 2>/dev/null && echo 'mounts'
        ls /sys/class/net | grep -v '^lo$' && echo 'has a network'
        grep -q 'CapEff:.*0000000000000000' /proc/self/status || echo 'has capabilities'
        grep -q 'NoNewPrivs:.*1' /proc/self/status || echo 'can get privileges'
        env | grep -i token && echo 'sees a token'
        touch /tmp/x && touch /workspace/x && echo 'can work'";
    assert_eq!(output_and_exit_code(script, None).await, ("can work\n".to_owned(), Some(0)));
}

#[tokio::test]
async fn heavy_a_step_of_another_user_can_write_its_folders() {
    let script = "id -u; id -g; echo x > /workspace/mine; echo a=b > \"$GREENROOM_OUTPUT\"; mkdir dist; \
                  cat /greenroom/control/alive > /dev/null && echo well";
    assert_eq!(
        output_and_exit_code(script, Some("1234:1234")).await,
        ("1234\n1234\nwell\n".to_owned(), Some(0))
    );
}

#[tokio::test]
async fn heavy_a_step_that_exceeds_its_memory_limit_is_killed() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |isolation| isolation.memory_bytes = 32 * 1024 * 1024).await;
    server.give(job(&[("eat", "echo begun; tail /dev/zero; echo survived")]));
    server.until_complete().await;
    server.recorded(|record| {
        assert_eq!(record.end("eat").status, StepEndStatus::Failed, "{:?}", record.end("eat"));
        assert!(record.log_text("eat").starts_with("begun\n"));
        assert!(!record.log_text("eat").contains("survived"));
    });
    runner.finish().await;
}
