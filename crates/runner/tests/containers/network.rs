//! Which networks steps have: one per slot, kept apart from each other, and removed with their runner.

use std::path::Path;
use std::time::Duration;

use greenroom_api_types::runner::{Job, Network, PermanentFailure, Source};
use greenroom_runner::backend::container::Container;
use greenroom_runner::backend::{Backend, Running, StepPlan};
use greenroom_runner::checkout::{Access, Cidr, Protocols, checkout};
use tokio::io::AsyncReadExt;
use tokio::task::JoinSet;

use crate::engine::Engine;
use crate::isolation::plan;
use crate::support::jobs::job;
use crate::support::server::Server;
use crate::support::{DEADLINE, eventually};

/// Serves a secret on port 8080, after it has written its address into the workspace.
const VICTIM: &str = "\
    echo secret > secret
    ip -4 addr show dev eth0 > address.part
    mv address.part address
    httpd -f -p 8080 -h /workspace";

fn connected() -> Job {
    Job { network: Network::Bridge, ..job(&[("look", "true")]) }
}

/// A step of the job in this slot.
async fn prepared(
    backend: &Container,
    folder: &Path,
    slot: u32,
    script: &str,
) -> (<Container as Backend>::Running, JoinSet<()>) {
    let images = backend.ready(&connected(), slot).await.unwrap();
    let image = images.values().next().unwrap().reference.clone();
    let step = StepPlan { slot, image, network: Network::Bridge, ..plan(folder, script, 600) };
    (backend.prepare(&step).await.unwrap(), keep_alive(&step))
}

/// Changes the alive file until this is dropped, as a runner with a valid lease does: a step's program starts only after a
/// change.
fn keep_alive(step: &StepPlan) -> JoinSet<()> {
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

/// What a step of the job in this slot writes.
async fn output(backend: &Container, slot: u32, script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (mut step, _alive) = prepared(backend, folder.path(), slot, script).await;
    let mut text = String::new();
    let mut output = step.start().await.unwrap();
    tokio::time::timeout(DEADLINE, output.read_to_string(&mut text)).await.unwrap().unwrap();
    step.remove().await.unwrap();
    text
}

fn address(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join("workspace/address")).ok()?;
    let address = text.split("inet ").nth(1)?.split('/').next()?;
    Some(address.to_owned())
}

#[tokio::test]
async fn heavy_jobs_of_two_slots_do_not_reach_each_other() {
    let engine = Engine::start().await;
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let backend = engine.backend(folders[0].path(), |_| {}).await;
    let (mut victim, _alive) = prepared(&backend, folders[1].path(), 0, VICTIM).await;
    let _output = victim.start().await.unwrap();
    eventually("the victim has an address", || address(folders[1].path()).is_some()).await;
    let address = address(folders[1].path()).unwrap();
    let request = format!(
        "for try in 1 2 3; do printf 'GET /secret HTTP/1.0\\r\\n\\r\\n' | nc -w 2 {address} 8080 2>/dev/null || :; done; echo tried"
    );
    // A third slot comes and goes: in Podman its end must not open what is between the others.
    assert_eq!(output(&backend, 2, "echo done").await, "done\n");
    assert_eq!(output(&backend, 1, &request).await, "tried\n");
    assert_eq!(output(&backend, 2, "echo done").await, "done\n");
    assert_eq!(output(&backend, 1, &request).await, "tried\n");
    // The same request from the victim's own slot: the victim does serve, so the others were kept from it.
    assert!(output_beside(&backend, 0, &request).await.contains("secret"));
    victim.remove().await.unwrap();
    backend.sweep().await.unwrap();
    assert_eq!(engine.networks(), ["podman"]);
}

/// What a step writes in a slot that has another one already, which no job does: without making the slot ready, which ends
/// what is there.
async fn output_beside(backend: &Container, slot: u32, script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let step = StepPlan { slot, network: Network::Bridge, ..plan(folder.path(), script, 600) };
    let _alive = keep_alive(&step);
    let mut step = backend.prepare(&step).await.unwrap();
    let mut text = String::new();
    let mut output = step.start().await.unwrap();
    tokio::time::timeout(DEADLINE, output.read_to_string(&mut text)).await.unwrap().unwrap();
    step.remove().await.unwrap();
    text
}

#[tokio::test]
async fn heavy_a_slot_is_cleared_before_its_next_job() {
    let engine = Engine::start().await;
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let backend = engine.backend(folders[0].path(), |_| {}).await;
    let (mut left, _alive) = prepared(&backend, folders[1].path(), 0, "sleep 600").await;
    let _output = left.start().await.unwrap();
    let before = engine.containers().len();
    // As if the engine had failed to remove it.
    assert_eq!(output(&backend, 0, "echo next").await, "next\n");
    let ended = tokio::time::timeout(Duration::from_secs(30), left.wait()).await.unwrap();
    assert!(ended.is_err(), "{ended:?}");
    assert_eq!(engine.containers().len(), before - 1, "only the network's holder is left");
    backend.sweep().await.unwrap();
    assert_eq!(engine.containers(), Vec::<String>::new());
}

#[tokio::test]
async fn heavy_a_runner_leaves_no_network_behind_and_removes_those_of_its_former_life() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let other = tempfile::tempdir().unwrap();
    let theirs = engine.backend(other.path(), |_| {}).await;
    theirs.ready(&connected(), 0).await.unwrap();
    let runner = engine.runner(server.port, |_| {}).await;
    server.give(Job { network: Network::Bridge, ..job(&[("look", "ip -4 addr show dev eth0")]) });
    assert_eq!(server.until_complete().await.error, None);
    server.told(|record| assert!(record.log_text("look").contains("inet "), "{}", record.log_text("look")));
    assert_eq!(engine.networks().len(), 3);
    // What keeps the networks in use runs nothing of the job's image, which may be anything.
    let ids = engine.containers();
    assert_eq!(ids.len(), 2);
    for id in ids {
        let program = engine.podman(&["inspect", "--format", "{{.Path}} {{.Args}} {{.State.Running}}", &id]);
        assert_eq!(program.trim(), "/greenroom/entry [--hold] true");
    }
    runner.finish().await;
    assert_eq!(engine.networks().len(), 2, "the other runner's is left");
    // The next life of the other runner.
    engine.backend(other.path(), |_| {}).await.sweep().await.unwrap();
    assert_eq!(engine.networks(), ["podman"]);
    assert_eq!(engine.containers(), Vec::<String>::new());
}

/// Of a private network, a pipeline's address must not tell which ports are open.
#[tokio::test]
async fn heavy_a_checkout_reports_open_and_closed_ports_of_a_private_network_alike() {
    let engine = Engine::start().await;
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let backend = engine.backend(folders[0].path(), |_| {}).await;
    let (mut server, _alive) = prepared(&backend, folders[1].path(), 0, VICTIM).await;
    let _output = server.start().await.unwrap();
    eventually("the server has an address", || address(folders[1].path()).is_some()).await;
    let address = address(folders[1].path()).unwrap();
    let is_open = || std::net::TcpStream::connect(format!("{address}:8080")).is_ok();
    eventually("the server listens", is_open).await;
    let errors = |allow: Vec<Cidr>| async {
        let access = Access { protocols: Protocols::Remote, allow };
        let mut errors = Vec::new();
        for repository in [format!("http://{address}:8080/x"), format!("http://{address}:8081/x")] {
            let (commit_id, folder) = ("0123456".to_owned(), tempfile::tempdir().unwrap());
            let source = Source { repository, commit_id, must_be_on: None };
            let error = checkout(&source, folder.path(), &access).await.unwrap_err();
            errors.push((error.to_string(), error.failure));
        }
        errors
    };
    assert_eq!(errors(Vec::new()).await, vec![("could not fetch".to_owned(), None); 2]);
    // To the operator's own forge the answer is told from none: a missing repository is a mistake, an outage is not.
    let named = errors(vec![address.parse().unwrap()]).await;
    assert_eq!(named[0].1, Some(PermanentFailure::RepositoryUnavailable), "{named:?}");
    assert_eq!(named[1].1, None, "{named:?}");
    server.remove().await.unwrap();
    backend.sweep().await.unwrap();
}
