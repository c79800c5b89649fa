//! Networks of steps: one per slot, isolated from each other, and removed with their runner.

use std::path::Path;
use std::time::Duration;

use greenroom_api_types::runner::{Job, Network, PermanentFailure, Source};
use greenroom_runner::backend::container::Container;
use greenroom_runner::backend::{Backend, Running, StepPlan, StepValues};
use greenroom_runner::checkout::{Access, Cidr, Protocols, checkout};
use greenroom_runner::credential::NoCredentials;
use tokio::io::AsyncReadExt;
use tokio::task::JoinSet;

use crate::engine::Engine;
use crate::isolation::plan;
use crate::support::jobs::job;
use crate::support::server::Server;
use crate::support::{TIMEOUT, eventually};

/// Serves a secret on port 8080, after it has written its address into the workspace.
const VICTIM: &str = "\
    echo secret > secret
    ip -4 addr show dev eth0 > address.part
    mv address.part address
    httpd -f -p 8080 -h /workspace";

fn bridge_job() -> Job {
    Job { network: Network::Bridge, ..job(&[("check", "true")]) }
}

/// Prepares a step of a job in this slot.
async fn prepare_step(
    backend: &Container,
    folder: &Path,
    slot: u32,
    script: &str,
) -> (<Container as Backend>::Running, JoinSet<()>) {
    let images = backend.ready(&bridge_job(), slot, &NoCredentials).await.unwrap();
    let image = images.values().next().unwrap().reference.clone();
    let step = StepPlan { slot, image, network: Network::Bridge, ..plan(folder, script, 600) };
    (backend.prepare(&step).await.unwrap(), keep_changing_liveness_file(&step))
}

/// Changes the liveness file until the returned task is dropped, as a runner with a valid lease does: a
/// step's program starts only after a change.
fn keep_changing_liveness_file(step: &StepPlan) -> JoinSet<()> {
    let file = step.folders.control.join("alive");
    let mut task = JoinSet::new();
    task.spawn(async move {
        for count in 1_u64.. {
            std::fs::write(&file, count.to_string()).unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    task
}

/// Returns the output of a step of a job in this slot.
async fn output(backend: &Container, slot: u32, script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (mut step, _liveness_task) = prepare_step(backend, folder.path(), slot, script).await;
    let mut text = String::new();
    let (mut output, _files) = step.start(&StepValues::default()).await.unwrap();
    tokio::time::timeout(TIMEOUT, output.read_to_string(&mut text)).await.unwrap().unwrap();
    step.remove().await.unwrap();
    text
}

fn address(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join("workspace/address")).ok()?;
    let address = text.split("inet ").nth(1)?.split('/').next()?;
    Some(address.to_owned())
}

#[tokio::test]
async fn heavy_jobs_of_two_slots_can_not_reach_each_other() {
    let engine = Engine::start().await;
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let backend = engine.backend(folders[0].path(), |_| {}).await;
    let (mut victim, _liveness_task) = prepare_step(&backend, folders[1].path(), 0, VICTIM).await;
    let _output = victim.start(&StepValues::default()).await.unwrap();
    eventually("the victim has an address", || address(folders[1].path()).is_some()).await;
    let address = address(folders[1].path()).unwrap();
    let request = format!(
        "for try in 1 2 3; do printf 'GET /secret HTTP/1.0\\r\\n\\r\\n' | nc -w 1 {address} 8080 2>/dev/null || :; done; echo tried"
    );
    // A third slot is used in between: in Podman its end must not remove the isolation of the others.
    assert_eq!(output(&backend, 2, "echo done").await, "done\n");
    assert_eq!(output(&backend, 1, &request).await, "tried\n");
    assert_eq!(output(&backend, 2, "echo done").await, "done\n");
    assert_eq!(output(&backend, 1, &request).await, "tried\n");
    // The same request from the victim's own slot succeeds, so that the others were blocked by the isolation.
    assert!(output_in_used_slot(&backend, 0, &request).await.contains("secret"));
    victim.remove().await.unwrap();
    backend.sweep().await.unwrap();
    assert_eq!(engine.networks(), ["podman"]);
}

/// Returns the output of a step in a slot that already has another one, which no job does. The slot is not
/// made ready, because that would remove the other step.
async fn output_in_used_slot(backend: &Container, slot: u32, script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let step = StepPlan { slot, network: Network::Bridge, ..plan(folder.path(), script, 600) };
    let _liveness_task = keep_changing_liveness_file(&step);
    let mut step = backend.prepare(&step).await.unwrap();
    let mut text = String::new();
    let (mut output, _files) = step.start(&StepValues::default()).await.unwrap();
    tokio::time::timeout(TIMEOUT, output.read_to_string(&mut text)).await.unwrap().unwrap();
    step.remove().await.unwrap();
    text
}

#[tokio::test]
async fn heavy_a_slot_is_cleared_before_its_next_job() {
    let engine = Engine::start().await;
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let backend = engine.backend(folders[0].path(), |_| {}).await;
    let (mut left, _liveness_task) = prepare_step(&backend, folders[1].path(), 0, "sleep 600").await;
    let _output = left.start(&StepValues::default()).await.unwrap();
    let before = engine.containers().len();
    // The first step is still there, as if the engine had failed to remove it.
    assert_eq!(output(&backend, 0, "echo next").await, "next\n");
    let ended = tokio::time::timeout(Duration::from_secs(30), left.wait()).await.unwrap();
    assert!(ended.is_err(), "{ended:?}");
    assert_eq!(engine.containers().len(), before - 1, "only the network's holder is left");
    backend.sweep().await.unwrap();
    assert_eq!(engine.containers(), Vec::<String>::new());
}

#[tokio::test]
async fn heavy_a_runner_removes_its_networks_and_those_of_a_previous_process() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let other = tempfile::tempdir().unwrap();
    let theirs = engine.backend(other.path(), |_| {}).await;
    theirs.ready(&bridge_job(), 0, &NoCredentials).await.unwrap();
    let runner = engine.runner(server.port, |_| {}).await;
    server.give(Job { network: Network::Bridge, ..job(&[("check", "ip -4 addr show dev eth0")]) });
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        assert!(record.log_text("check").contains("inet "), "{}", record.log_text("check"))
    });
    assert_eq!(engine.networks().len(), 3);
    // The holders of the networks run no program of the job's image, which is not trusted.
    let ids = engine.containers();
    assert_eq!(ids.len(), 2);
    for id in ids {
        let program = engine.podman(&["inspect", "--format", "{{.Path}} {{.Args}} {{.State.Running}}", &id]);
        assert_eq!(program.trim(), "/greenroom/entry [--hold] true");
    }
    runner.finish().await;
    assert_eq!(engine.networks().len(), 2, "the other runner's is left");
    // The other runner is restarted.
    engine.backend(other.path(), |_| {}).await.sweep().await.unwrap();
    assert_eq!(engine.networks(), ["podman"]);
    assert_eq!(engine.containers(), Vec::<String>::new());
}

/// A pipeline's repository address must not reveal which ports are open in a private network.
#[tokio::test]
async fn heavy_a_checkout_reports_the_same_error_for_open_and_closed_private_ports() {
    let engine = Engine::start().await;
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let backend = engine.backend(folders[0].path(), |_| {}).await;
    let (mut server, _liveness_task) = prepare_step(&backend, folders[1].path(), 0, VICTIM).await;
    let _output = server.start(&StepValues::default()).await.unwrap();
    eventually("the server has an address", || address(folders[1].path()).is_some()).await;
    let address = address(folders[1].path()).unwrap();
    let is_open = || std::net::TcpStream::connect(format!("{address}:8080")).is_ok();
    eventually("the server listens", is_open).await;
    let errors = |allow: Vec<Cidr>| async {
        let access = Access { protocols: Protocols::Remote, allow };
        let mut errors = Vec::new();
        for repository in [format!("http://{address}:8080/x"), format!("http://{address}:8081/x")] {
            let (commit_id, folder) = ("0123456".to_owned(), tempfile::tempdir().unwrap());
            let source = Source { repository, commit_id, must_be_on: None, submodules: None };
            let error = checkout(&source, folder.path(), &access, &NoCredentials).await.unwrap_err();
            errors.push((error.to_string(), error.failure));
        }
        errors
    };
    assert_eq!(errors(Vec::new()).await, vec![("could not fetch".to_owned(), None); 2]);
    // For an allowed network the errors differ: a missing repository is permanent, an outage is not.
    let named = errors(vec![address.parse().unwrap()]).await;
    assert_eq!(named[0].1, Some(PermanentFailure::RepositoryUnavailable), "{named:?}");
    assert_eq!(named[1].1, None, "{named:?}");
    server.remove().await.unwrap();
    backend.sweep().await.unwrap();
}
