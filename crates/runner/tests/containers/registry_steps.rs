//! Steps of registries in containers: their files and inputs are mounted read-only.

use greenroom_api_types::runner::{Job, PermanentFailure};

use crate::engine::Engine;
use crate::support::jobs::job;
use crate::support::server::Server;
use crate::support::steps::{publish, registry_step};

const SCRIPT: &str = "\
    cd \"$GREENROOM_STEP_FOLDER\"; echo \"$PWD $GREENROOM_INPUTS_FILE $GREENROOM_INPUT_REPLICAS\"
    cat data; /greenroom/step/bin/run; cat /greenroom/inputs.json; echo
    for path in data new bin/run ../inputs.json; do
        (echo x > $path) 2>/dev/null && echo \"writes $path\"
    done
    /bin/busybox rm -f data 2>/dev/null && echo 'removes a file'
    /bin/busybox chmod 777 data 2>/dev/null && echo 'changes a mode'
    mount -o remount,rw /greenroom/step 2>/dev/null && echo 'mounts it again'
    /bin/busybox stat -c '%a' data bin/run ../inputs.json
    cd /workspace; echo x > mine; ls";

#[tokio::test]
async fn heavy_a_step_can_read_its_files_and_inputs_and_change_neither() {
    for user in [None, Some("1234:1234")] {
        let (engine, server) = (Engine::start().await, Server::start().await);
        let user = user.map(|user| user.parse().unwrap());
        let runner = engine.runner(server.port, |isolation| isolation.user = user).await;
        let step = publish(&[("data", 0o644, "data\n"), ("bin/run", 0o755, "#!/bin/sh\necho runs\n")]);
        server.offer_step(&step.digest, Some(&step.archive));
        server.give(Job { steps: vec![registry_step("use", SCRIPT, &step.digest)], ..job(&[]) });
        assert_eq!(server.until_complete().await.error, None);
        let expected = "/greenroom/step /greenroom/inputs.json 2\ndata\nruns\n\
                        {\"message\":\"it's \\\"well\\\"\",\"replicas\":2}\n644\n755\n444\nmine\n";
        server.recorded(|record| assert_eq!(record.log_text("use"), expected));
        runner.finish().await;
    }
}

#[tokio::test]
async fn heavy_no_container_starts_if_the_content_has_another_digest() {
    let (engine, server) = (Engine::start().await, Server::start().await);
    let runner = engine.runner(server.port, |_| {}).await;
    let (right, wrong) = (publish(&[("run", 0o755, "right")]), publish(&[("run", 0o755, "wrong")]));
    server.offer_step(&right.digest, Some(&wrong.archive));
    server.give(Job { steps: vec![registry_step("use", "echo runs", &right.digest)], ..job(&[]) });
    let complete = server.until_complete().await;
    assert_eq!(complete.failure, Some(PermanentFailure::StepDigestMismatch), "{complete:?}");
    assert_eq!(engine.containers(), Vec::<String>::new());
    server.recorded(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}
