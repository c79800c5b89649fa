//! Secrets of steps in containers: they are neither in the container's configuration nor in any file of the
//! engine.

use std::time::Duration;

use greenroom_runner::backend::{Backend, Running, StepValues};
use tokio::io::AsyncReadExt;

use crate::engine::Engine;
use crate::support::jobs::job;
use crate::support::server::Server;

#[tokio::test]
async fn heavy_the_folder_of_secret_files_is_a_tmpfs_of_one_mebibyte() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    let script = "grep -o ' /greenroom/secrets tmpfs .*' /proc/mounts; \
                  dd if=/dev/zero of=/greenroom/secrets/x bs=1024 count=2048 2>/dev/null || echo full";
    server.give(job(&[("check", script)]));
    server.until_complete().await;
    let text = server.recorded(|record| record.log_text("check"));
    for part in ["size=1024k", "noexec", "nosuid", "nodev", "full"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    runner.finish().await;
}

#[tokio::test]
async fn heavy_a_file_is_replaced_while_the_step_runs() {
    let engine = Engine::start().await;
    let folder = tempfile::tempdir().unwrap();
    let backend = engine.backend(folder.path(), |_| {}).await;
    let script = "echo ready; while [ \"$(cat $TOKEN)\" = first ]; do sleep 0.05; done; cat $TOKEN";
    let step = crate::isolation::plan(folder.path(), script, 20);
    let mut running = backend.prepare(&step).await.unwrap();
    let mut values = StepValues::default();
    values.add_file("TOKEN", b"first");
    let mut output = running.start(&values).await.unwrap();
    let mut ready = [0; 6];
    for count in 2.. {
        std::fs::write(step.folders.control.join("alive"), count.to_string()).unwrap();
        let read = tokio::time::timeout(Duration::from_millis(100), output.read_exact(&mut ready));
        if read.await.is_ok_and(|read| read.is_ok()) {
            break;
        }
    }
    running.replace_file("TOKEN", b"second").await.unwrap();
    assert_eq!(running.wait().await.unwrap().exit_code, 0);
    let mut rest = String::new();
    output.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "second");
    running.remove().await.unwrap();
}
