//! A container's output is delivered byte for byte.

use greenroom_api_types::runner::StepEndStatus;

use crate::engine::Engine;
use crate::support::jobs::job;
use crate::support::server::Server;

/// A log of some mebibytes with numbered lines.
#[tokio::test]
async fn heavy_no_output_of_a_container_is_lost() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    server.give(job(&[("print", "seq 1 1000000; printf 'no end of line'")]));
    server.until_complete().await;
    let expected: String =
        (1..=1_000_000).map(|number| format!("{number}\n")).collect::<String>() + "no end of line";
    server.recorded(|record| {
        assert_eq!(record.end("print").status, StepEndStatus::Succeeded, "{:?}", record.end("print"));
        assert!(
            record.log("print") == expected.as_bytes(),
            "{} bytes of {}",
            record.log("print").len(),
            expected.len()
        );
    });
    runner.finish().await;
}

/// The end of the output is most likely to be lost in short steps.
#[tokio::test]
async fn heavy_the_last_output_of_short_steps_is_delivered() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    let names: Vec<String> = (0..10).map(|number| format!("step{number}")).collect();
    let steps: Vec<(&str, &str)> =
        names.iter().map(|name| (name.as_str(), "echo first; echo last")).collect();
    server.give(job(&steps));
    server.until_complete().await;
    server.recorded(|record| {
        for name in &names {
            assert_eq!(record.log_text(name), "first\nlast\n", "{name}");
        }
    });
    runner.finish().await;
}
