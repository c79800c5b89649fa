//! Proofs that a commit is on a branch.

use greenroom_api_types::runner::{MustBeOn, PermanentFailure, Source};
use greenroom_runner::checkout::checkout;
use greenroom_runner::credential::NoCredentials;

use crate::git_server::{GitServer, Repository, ServerMode};
use crate::support::test_runner::local_access;

/// `main`, a branch that was merged into it, one that was not, and a commit that no branch has.
struct BranchesFixture {
    repository: Repository,
    base: String,
    merged: String,
    tip: String,
    feature: String,
    /// Served by its id, as forges do with commits of forks, but on no branch.
    impostor: String,
}

fn branches_fixture() -> BranchesFixture {
    let repository = Repository::new();
    let base = repository.commit("base");
    repository.git(&["checkout", "--quiet", "-b", "merged"]);
    let merged = repository.commit("merged");
    repository.git(&["checkout", "--quiet", "main"]);
    repository.git(&["merge", "--quiet", "--no-ff", "--no-edit", "merged"]);
    let tip = repository.commit("tip");
    repository.git(&["checkout", "--quiet", "-b", "feature/one"]);
    let feature = repository.commit("feature");
    repository.git(&["checkout", "--quiet", "--detach", "main"]);
    let impostor = repository.commit("impostor");
    repository.git(&["update-ref", "refs/pull/1/head", &impostor]);
    repository.git(&["checkout", "--quiet", "main"]);
    BranchesFixture { repository, base, merged, tip, feature, impostor }
}

async fn prove(
    server: &GitServer,
    commit_id: &str,
    branch: Option<&str>,
    any_of: &[&str],
) -> Result<Option<String>, Option<PermanentFailure>> {
    let folder = tempfile::tempdir().unwrap();
    let any_of = any_of.iter().map(|branch| (*branch).to_owned()).collect();
    let source = Source {
        repository: server.url.clone(),
        commit_id: commit_id.to_owned(),
        must_be_on: Some(MustBeOn { branch: branch.map(str::to_owned), any_of }),
        submodules: None,
    };
    let done = checkout(&source, folder.path(), &local_access(), &NoCredentials).await;
    done.map(|done| done.branch).map_err(|error| error.failure)
}

const NOT_ON_BRANCH: Result<Option<String>, Option<PermanentFailure>> =
    Err(Some(PermanentFailure::CommitNotOnBranch));

#[tokio::test]
async fn a_commit_in_the_history_of_a_branch_is_on_it() {
    let fixture = branches_fixture();
    let server = GitServer::start(&fixture.repository, ServerMode::AnyCommit).await;
    for id in [&fixture.base, &fixture.merged, &fixture.tip] {
        assert_eq!(prove(&server, id, Some("main"), &[]).await, Ok(Some("main".to_owned())), "{id}");
    }
    assert_eq!(
        prove(&server, &fixture.feature[..10], Some("feature/one"), &[]).await,
        Ok(Some("feature/one".to_owned()))
    );
}

#[tokio::test]
async fn a_commit_outside_of_the_history_of_a_branch_is_not_on_it() {
    let fixture = branches_fixture();
    let server = GitServer::start(&fixture.repository, ServerMode::AnyCommit).await;
    for (id, branch) in [
        (&fixture.feature, "main"),
        (&fixture.impostor, "main"),
        (&fixture.tip, "merged"),
        (&fixture.tip, "no-such-branch"),
        (&fixture.tip, "refs/heads/main"),
        (&fixture.feature, "*"),
        (&fixture.feature, "feature/one:refs/heads/main"),
    ] {
        assert_eq!(prove(&server, id, Some(branch), &[]).await, NOT_ON_BRANCH, "{branch}");
    }
}

#[tokio::test]
async fn the_branches_of_an_environment_apply_in_addition_to_the_named_one() {
    let fixture = branches_fixture();
    let server = GitServer::start(&fixture.repository, ServerMode::AnyCommit).await;
    let main = Ok(Some("main".to_owned()));
    assert_eq!(prove(&server, &fixture.tip, None, &["no-such-branch", "main"]).await, main);
    assert_eq!(prove(&server, &fixture.tip, Some("main"), &["main"]).await, main);
    assert_eq!(prove(&server, &fixture.feature, None, &["main", "merged"]).await, NOT_ON_BRANCH);
    assert_eq!(prove(&server, &fixture.feature, Some("feature/one"), &["main"]).await, NOT_ON_BRANCH);
    let both = prove(&server, &fixture.merged, Some("merged"), &["main"]).await;
    assert_eq!(both, Ok(Some("merged".to_owned())), "it is on both");
}

#[tokio::test]
async fn a_commit_on_no_branch_is_not_deployed_to_a_lasting_environment() {
    let fixture = branches_fixture();
    let server = GitServer::start(&fixture.repository, ServerMode::AnyCommit).await;
    assert_eq!(prove(&server, &fixture.impostor, None, &[]).await, NOT_ON_BRANCH);
    assert_eq!(prove(&server, &fixture.feature, None, &[]).await, Ok(Some("feature/one".to_owned())));
}
