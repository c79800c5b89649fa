//! A container's output: byte for byte.

use greenroom_api_types::runner::StepEndStatus;

use crate::engine::Engine;
use crate::support::jobs::job;
use crate::support::server::Server;

/// A log of some mebibytes that says in each line which one it is.
#[tokio::test]
async fn heavy_nothing_of_a_containers_output_is_lost() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    server.give(job(&[("talk", "seq 1 1000000; printf 'no end of line'")]));
    server.until_complete().await;
    let expected: String =
        (1..=1_000_000).map(|number| format!("{number}\n")).collect::<String>() + "no end of line";
    server.told(|record| {
        assert_eq!(record.end("talk").status, StepEndStatus::Succeeded, "{:?}", record.end("talk"));
        assert!(
            record.log("talk") == expected.as_bytes(),
            "{} bytes of {}",
            record.log("talk").len(),
            expected.len()
        );
    });
    runner.finish().await;
}

/// Short steps are where the end of the output is lost, if anywhere.
#[tokio::test]
async fn heavy_the_last_words_of_short_steps_arrive() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    let names: Vec<String> = (0..10).map(|number| format!("step{number}")).collect();
    let steps: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), "echo first; echo last")).collect();
    server.give(job(&steps));
    server.until_complete().await;
    server.told(|record| {
        for name in &names {
            assert_eq!(record.log_text(name), "first\nlast\n", "{name}");
        }
    });
    runner.finish().await;
}
