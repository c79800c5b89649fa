//! Secrets of steps in containers: they are neither in the container's configuration nor in any file of the
//! engine.

use std::path::Path;
use std::time::Duration;

use greenroom_runner::backend::{Backend, Running, StepValues};
use tokio::io::AsyncReadExt;

use crate::engine::Engine;
use crate::support::jobs::{job, secret, secret_file};
use crate::support::server::Server;

const VALUE: &str = "correct-horse-battery";

/// Returns the files below a folder that contain the text. What the containers' own tmpfs contain is not
/// visible here.
pub fn files_with(folder: &Path, text: &str, count: &mut usize) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            found.extend(files_with(&entry.path(), text, count));
        } else if kind.is_file() {
            *count += 1;
            let content = std::fs::read(entry.path()).unwrap_or_default();
            if content.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found
}

#[tokio::test]
async fn heavy_a_secret_reaches_the_step_and_nothing_of_the_engine() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    server.configure(|rules| rules.secrets = vec![secret("KEY", VALUE), secret_file("CONFIG", VALUE)]);
    let script = format!(
        "[ \"$KEY\" = {VALUE} ] && echo variable; [ \"$(cat $CONFIG)\" = {VALUE} ] && echo file; \
         echo \"$CONFIG $KEY\"; cat; echo ready; while [ ! -e go ]; do sleep 0.05; done"
    )
    .replace(VALUE, "correct-\"\"horse-battery");
    server.give(job(&[("build", &script)]));
    let expected = "variable\nfile\n/greenroom/secrets/CONFIG ***\nready\n";
    server.until("the step runs", |record| record.log_text("build") == expected).await;
    let inspected = engine.podman(&["inspect", &engine.containers()[0]]);
    assert!(inspected.contains("/greenroom/secrets") && !inspected.contains("horse"), "{inspected}");
    let mut count = 0;
    assert_eq!(files_with(engine.folder(), VALUE, &mut count), Vec::<String>::new());
    assert_eq!(files_with(runner.folder.path(), VALUE, &mut count), Vec::<String>::new());
    assert!(count > 10, "only {count} files of the engine were found");
    let jobs = runner.folder.path().join("jobs");
    let job = std::fs::read_dir(jobs).unwrap().next().unwrap().unwrap().path();
    std::fs::write(job.join("workspace/go"), "").unwrap();
    assert_eq!(server.until_complete().await.error, None);
    runner.finish().await;
    assert_eq!(files_with(engine.folder(), VALUE, &mut count), Vec::<String>::new());
}

#[tokio::test]
async fn heavy_a_secret_file_belongs_to_the_steps_user() {
    for (user, expected) in [(None, "0:0 400\n"), (Some("1234:1235"), "1234:1235 400\n")] {
        let (engine, server) = (Engine::start().await, Server::start().await);
        let user = user.map(|user| user.parse().unwrap());
        let runner = engine.runner(server.port, |isolation| isolation.user = user).await;
        server.configure(|rules| rules.secrets = vec![secret_file("CONFIG", VALUE)]);
        server.give(job(&[("check", "/bin/busybox stat -c '%u:%g %a' $CONFIG")]));
        assert_eq!(server.until_complete().await.error, None);
        server.recorded(|record| assert_eq!(record.log_text("check"), expected));
        runner.finish().await;
    }
}

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
    let (mut output, mut files) = running.start(&values).await.unwrap();
    let mut ready = [0; 6];
    for count in 2.. {
        std::fs::write(step.folders.control.join("alive"), count.to_string()).unwrap();
        let read = tokio::time::timeout(Duration::from_millis(100), output.read_exact(&mut ready));
        if read.await.is_ok_and(|read| read.is_ok()) {
            break;
        }
    }
    files.replace("TOKEN", b"second").await.unwrap();
    assert_eq!(running.wait().await.unwrap().exit_code, 0);
    let mut rest = String::new();
    output.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "second");
    running.remove().await.unwrap();
}

#[tokio::test]
async fn waits_an_id_token_is_renewed_in_a_file_and_is_nowhere_else() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let user = Some("1234:1235".parse().unwrap());
    let runner = engine.runner(server.port, |isolation| isolation.user = user).await;
    server.configure(|rules| (rules.id_tokens, rules.id_token_seconds) = (vec!["TOKEN"], 8));
    let changes = "until new=$(cat $TOKEN); [ \"$new\" ] && [ \"$new\" != \"$last\" ]; do sleep 0.05; done; last=$new; \
                   expires=${last##*.}; [ $(/bin/busybox date +%s) -lt ${expires%%-*} ] && echo valid $last";
    let script = format!(
        "echo $TOKEN $(env | grep -c signature); {changes}; {changes}; {changes}; \
         /bin/busybox stat -c '%u:%g %a' $TOKEN; while [ ! -e go ]; do sleep 0.05; done"
    );
    server.give(job(&[("build", &format!("set +e; {script}"))]));
    let expected = "/greenroom/secrets/TOKEN 0\nvalid ***\nvalid ***\nvalid ***\n1234:1235 400\n";
    server.until("the token is renewed", |record| record.log_text("build") == expected).await;
    let signatures = server.recorded(|record| record.id_tokens.clone());
    let inspected = engine.podman(&["inspect", &engine.containers()[0]]);
    let mut count = 0;
    for token in signatures {
        let signature = token.rsplit('.').next().unwrap();
        assert!(!inspected.contains(signature), "{inspected}");
        assert_eq!(files_with(engine.folder(), signature, &mut count), Vec::<String>::new());
        assert_eq!(files_with(runner.folder.path(), signature, &mut count), Vec::<String>::new());
    }
    assert!(count > 10, "only {count} files of the engine were found");
    let jobs = runner.folder.path().join("jobs");
    let job = std::fs::read_dir(jobs).unwrap().next().unwrap().unwrap().path();
    std::fs::write(job.join("workspace/go"), "").unwrap();
    assert_eq!(server.until_complete().await.error, None);
    runner.finish().await;
}

#[tokio::test]
async fn waits_a_step_that_fills_the_folder_of_its_tokens_gets_the_renewed_one_later() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    server.configure(|rules| (rules.id_tokens, rules.id_token_seconds) = (vec!["TOKEN"], 12));
    // The token is renewed after six seconds, for which there is no room then.
    let script = "cd /greenroom/secrets; first=$(cat TOKEN); dd if=/dev/zero of=full bs=1024 count=2048 2>/dev/null; \
                  sleep 8; [ \"$(cat TOKEN)\" = \"$first\" ] && echo kept; rm full; sleep 1.5; \
                  [ \"$(cat TOKEN)\" = \"$first\" ] || echo renewed; cat TOKEN";
    server.give(job(&[("build", &format!("set +e; {script}"))]));
    assert_eq!(server.until_complete().await.error, None);
    let log = server.recorded(|record| record.log_text("build"));
    assert!(
        log.contains("a value was not renewed: the file /greenroom/secrets/TOKEN: No space left"),
        "{log}"
    );
    assert!(log.ends_with("kept\nrenewed\n***"), "{log}");
    runner.finish().await;
}
