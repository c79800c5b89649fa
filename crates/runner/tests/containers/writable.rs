//! The claims of `docs/runner.md` about what a step can write, and about its image.

use greenroom_api_types::runner::StepEndStatus;

use crate::engine::{Engine, IMAGE};
use crate::support::jobs::job;
use crate::support::server::Server;

/// Returns the output of a script in a container.
async fn output(script: &str) -> String {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    server.give(job(&[("check", script)]));
    assert_eq!(server.until_complete().await.error, None);
    let text = server.recorded(|record| {
        assert_eq!(record.end("check").status, StepEndStatus::Succeeded, "{}", record.log_text("check"));
        record.log_text("check")
    });
    runner.finish().await;
    text
}

#[tokio::test]
async fn heavy_the_folders_that_a_step_can_write() {
    let script = "\
        for folder in / /bin /dev /dev/shm /etc /greenroom /greenroom/control /greenroom/output /greenroom/secrets /proc \
            /proc/sys /run /sys /sys/fs/cgroup /tmp /var /var/tmp /workspace; do
            (echo x > $folder/probe) 2>/dev/null && echo $folder
        done
        for file in /etc/hosts /etc/hostname /etc/resolv.conf /greenroom/entry /proc/sysrq-trigger; do
            (: >> $file) 2>/dev/null && echo $file
        done
        true";
    // As root of the container, with Podman, which adds `/run` and `/var/tmp`.
    let expected = [
        "/dev",
        "/dev/shm",
        "/greenroom/output",
        "/greenroom/secrets",
        "/run",
        "/tmp",
        "/var/tmp",
        "/workspace",
    ];
    assert_eq!(output(script).await.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn heavy_writable_folders_outside_of_the_workspace_count_as_memory() {
    // The step's memory limit is 128 MiB.
    let script = "\
        for folder in /dev /dev/shm /greenroom/secrets /run /tmp /var/tmp; do grep -q \" $folder tmpfs \" /proc/mounts || echo $folder; done
        dd if=/dev/zero of=/run/full bs=1M count=256 2>/dev/null && echo 'more than its memory'
        true";
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    server.give(job(&[("fill", script)]));
    server.until_complete().await;
    server.recorded(|record| {
        let text = record.log_text("fill");
        // The shell may print that `dd` was killed.
        assert!(!text.contains("more than") && !text.lines().any(|line| line.starts_with('/')), "{text}");
    });
    runner.finish().await;
}

#[tokio::test]
async fn heavy_a_step_can_not_affect_its_entrypoint() {
    let script = "\
        id -u
        (: >> /proc/1/mem) 2>/dev/null && echo 'opens its memory'
        (: < /proc/1/environ) 2>/dev/null && echo 'reads its environment'
        kill -STOP 1 2>/dev/null
        kill -KILL 1 2>/dev/null
        grep -q '^State:.T' /proc/1/status && echo 'stops it'
        echo watched";
    assert_eq!(output(script).await, "0\nwatched\n");
}

#[tokio::test]
async fn heavy_the_digest_of_a_steps_image_is_reported() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let digest = engine.podman(&["image", "inspect", "--format", "{{.Digest}}", IMAGE]);
    let runner = engine.runner(server.port, |_| {}).await;
    server.give(job(&[("check", "true")]));
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| assert_eq!(record.images["check"], digest.trim()));
    runner.finish().await;
}

/// The tag is moved to another image between two steps of a job.
#[tokio::test]
async fn heavy_all_steps_of_a_job_use_the_image_that_was_resolved_first() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    let script = "echo ready; while [ ! -e /workspace/go ]; do sleep 0.1; done";
    server.give(job(&[("first", script), ("second", "[ -e /moved ] && echo moved; echo done")]));
    server.until("the first step runs", |record| record.log("first") == b"ready\n").await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("moved"), "").unwrap();
    let container = engine.podman(&["create", IMAGE, "/bin/true"]);
    let from = folder.path().join("moved").display().to_string();
    engine.podman(&["cp", &from, &format!("{}:/moved", container.trim())]);
    engine.podman(&["commit", "--quiet", container.trim(), IMAGE]);
    engine.podman(&["rm", container.trim()]);
    let workspace = runner.folder.path().join("jobs");
    let job = std::fs::read_dir(&workspace).unwrap().next().unwrap().unwrap().path();
    std::fs::write(job.join("workspace/go"), "").unwrap();
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        assert_eq!(record.log_text("second"), "done\n");
        assert_eq!(record.images["first"], record.images["second"]);
    });
    runner.finish().await;
}
