//! A checkout as part of a job.

use greenroom_api_types::runner::Source;

use crate::git_server::{GitServer, Manner, Repository};
use crate::support::jobs::job;
use crate::support::running::Running;
use crate::support::server::Server;

#[tokio::test]
async fn steps_find_the_commit_and_the_server_hears_its_full_id() {
    let repository = Repository::new();
    let id = repository.commit("meant");
    repository.commit("later");
    let git = GitServer::start(&repository, Manner::Willing).await;
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    let mut with_source = job(&[("look", "cat file")]);
    with_source.source = Some(Source { repository: git.url.clone(), commit_id: id[..12].to_owned() });
    server.give(with_source);
    let complete = server.until_complete().await;
    assert_eq!((complete.error, complete.commit_id), (None, Some(id)));
    server.told(|record| assert_eq!(record.log_text("look"), "meant"));
    runner.finish().await;
}

#[tokio::test]
async fn a_checkout_that_fails_is_the_jobs_error_and_no_step_starts() {
    let repository = Repository::new();
    repository.commit("one");
    let git = GitServer::start(&repository, Manner::Willing).await;
    let server = Server::start().await;
    let runner = Running::with_processes(server.port);
    let mut with_source = job(&[("look", "cat file")]);
    with_source.source = Some(Source { repository: git.url.clone(), commit_id: "0123456".to_owned() });
    server.give(with_source);
    let complete = server.until_complete().await;
    assert!(complete.error.unwrap().contains("the checkout failed"));
    assert_eq!(complete.commit_id, None);
    server.told(|record| assert_eq!(record.calls, ["complete"]));
    runner.finish().await;
}
