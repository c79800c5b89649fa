//! Images of a private registry: Debian's `docker-registry` with a password.

use std::process::{Child, Command, Stdio};

use greenroom_api_types::runner::{Complete, CredentialKind, Job, PermanentFailure};

use crate::engine::{Engine, IMAGE, INSTALL};
use crate::secrets::files_with;
use crate::support::eventually;
use crate::support::jobs::{credential, job};
use crate::support::server::Server;

/// Some of its characters are encoded differently in the two alphabets of base64.
const PASSWORD: &str = "hunter>~?22-of-registries";
/// Made by `htpasswd -nbB`.
const HTPASSWD: &str = "bot:$2y$05$BczAXB/YLzEnhbchgU6EVOz1cjTOIY8Ertmw8MTAQ1uUe0MAAKe8.\n";

struct Registry {
    host: String,
    service: Child,
    folder: tempfile::TempDir,
}

impl Registry {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let part = |name: &str| folder.path().join(name).display().to_string();
        // Released for the registry, which can't choose a port itself.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host = format!("127.0.0.1:{port}");
        let config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: {host}}}\n\
             auth: {{htpasswd: {{realm: test, path: {}}}}}\n",
            part("images"),
            part("htpasswd")
        );
        std::fs::write(part("config.yml"), config).unwrap();
        std::fs::write(part("htpasswd"), HTPASSWD).unwrap();
        let service = Command::new("docker-registry")
            .args(["serve", &part("config.yml")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("docker-registry could not be run ({error}): {INSTALL}"));
        let registry = Registry { host, service, folder };
        eventually("the registry listens", || std::net::TcpStream::connect(&registry.host).is_ok()).await;
        registry
    }

    /// Moves the engine's image to the registry. Returns its name there.
    fn take_image(&self, engine: &Engine) -> String {
        let image = format!("{}/team/app:1", self.host);
        let credential = format!("bot:{PASSWORD}");
        engine.podman(&["push", "--quiet", "--creds", &credential, IMAGE, &format!("docker://{image}")]);
        engine.podman(&["rmi", "--all", "--force"]);
        image
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
        let _ = self.folder.path();
    }
}

fn job_with(image: &str, run: &str) -> Job {
    let mut job = job(&[("check", run)]);
    job.steps[0].image = image.to_owned();
    job
}

async fn run(server: &Server, job: Job) -> Complete {
    server.give(job);
    server.until_complete().await
}

#[tokio::test]
async fn heavy_a_private_image_is_pulled_and_its_credential_is_nowhere_else() {
    let (registry, server) = (Registry::start().await, Server::start().await);
    let engine = Engine::start_with_registry(&registry.host).await;
    let image = registry.take_image(&engine);
    let runner = engine.runner(server.port, |_| {}).await;

    let refused = run(&server, job_with(&image, "true")).await;
    assert_eq!(refused.failure, Some(PermanentFailure::ImageNotFound), "{refused:?}");
    let wrong = credential(CredentialKind::Registry, &registry.host, "bot:hunter-of-others");
    server.configure(|rules| rules.credentials = vec![wrong]);
    let refused = run(&server, job_with(&image, "true")).await;
    assert_eq!(refused.failure, Some(PermanentFailure::ImageNotFound), "{refused:?}");
    assert!(!refused.error.unwrap().contains("hunter-of"));

    let known = credential(CredentialKind::Registry, &registry.host, format!("bot:{PASSWORD}"));
    server.configure(|rules| rules.credentials = vec![known.clone()]);
    let script =
        "env; echo ready; while [ ! -e go ]; do sleep 0.05; done; echo 'hunter>~''?22-of-registries'";
    server.give(job_with(&image, script));
    server.until("the step runs", |record| record.log_text("check").ends_with("ready\n")).await;
    let container = &engine.containers()[0];
    let inspected = engine.podman(&["inspect", container]) + &engine.podman(&["inspect", &image]);
    assert!(inspected.contains("team/app"), "{inspected}");
    let encoded = "Ym90Omh1bnRlcj5-PzIyLW9mLXJlZ2lzdHJpZXM";
    let mut count = 0;
    for text in [PASSWORD, "22-of-registries", encoded, &encoded.replace('-', "+")] {
        assert!(!inspected.contains(text), "{inspected}");
        assert_eq!(files_with(engine.folder(), text, &mut count), Vec::<String>::new(), "{text}");
        let jobs = runner.folder.path().join("jobs");
        let mut files = files_with(&jobs, text, &mut count);
        files.retain(|file| !file.ends_with("step-0.sh"));
        assert_eq!(files, Vec::<String>::new(), "{text}");
    }
    assert!(count > 40, "only {count} files were found");
    let jobs = runner.folder.path().join("jobs");
    let folder = std::fs::read_dir(jobs).unwrap().next().unwrap().unwrap().path();
    std::fs::write(folder.join("workspace/go"), "").unwrap();
    assert_eq!(server.until_complete().await.error, None);
    server.recorded(|record| {
        assert_eq!(
            record.credential_requests,
            std::slice::from_ref(&known.0),
            "for this host only, and once"
        );
        let log = record.log_text("check");
        assert!(log.ends_with("ready\n***\n") && !log.contains("hunter"), "{log}");
    });
    runner.finish().await;
}

#[tokio::test]
async fn heavy_a_private_image_on_the_machine_is_not_for_jobs_without_its_credential() {
    let (registry, server) = (Registry::start().await, Server::start().await);
    let engine = Engine::start_with_registry(&registry.host).await;
    let image = registry.take_image(&engine);
    let runner = engine.runner(server.port, |_| {}).await;
    let known = credential(CredentialKind::Registry, &registry.host, format!("bot:{PASSWORD}"));
    server.configure(|rules| rules.credentials = vec![known.clone()]);
    for _ in 0..2 {
        assert_eq!(run(&server, job_with(&image, "true")).await.error, None);
        server.recorded(|record| assert_eq!(record.credential_requests, std::slice::from_ref(&known.0)));
    }
    let id = engine.podman(&["image", "inspect", "--format", "{{.Id}}", &image]).trim().to_owned();
    server.configure(|rules| rules.credentials = Vec::new());
    // The attacker's pipeline names an image of another one, which is on the machine.
    for name in [&image, &id, &id[..12], &format!("sha256:{id}")] {
        let refused = run(&server, job_with(name, "true")).await;
        assert_eq!(refused.failure, Some(PermanentFailure::ImageNotFound), "{name}: {refused:?}");
        server.recorded(|record| assert_eq!(record.calls, ["complete"], "{name}"));
    }
    runner.finish().await;
    // A new process of the runner has not forgotten it.
    let runner = engine.runner(server.port, |_| {}).await;
    let refused = run(&server, job_with(&image, "true")).await;
    assert_eq!(refused.failure, Some(PermanentFailure::ImageNotFound), "{refused:?}");
    server.configure(|rules| rules.credentials = vec![known]);
    assert_eq!(run(&server, job_with(&image, "true")).await.error, None);
    runner.finish().await;
}
