//! That a commit is on a branch is proven, and not believed.

use greenroom_api_types::runner::{MustBeOn, PermanentFailure, Source};
use greenroom_runner::checkout::checkout;

use crate::git_server::{GitServer, Manner, Repository};
use crate::support::running::local;

/// `main`, a branch that was merged into it, one that was not, and a commit that no branch has.
struct Tree {
    repository: Repository,
    base: String,
    merged: String,
    tip: String,
    feature: String,
    /// Served by its id, as forges do with the commits of forks, and on no branch.
    impostor: String,
}

fn tree() -> Tree {
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
    Tree { repository, base, merged, tip, feature, impostor }
}

async fn proven(
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
    };
    let done = checkout(&source, folder.path(), &local()).await;
    done.map(|done| done.branch).map_err(|error| error.failure)
}

const NOT_ON_BRANCH: Result<Option<String>, Option<PermanentFailure>> =
    Err(Some(PermanentFailure::CommitNotOnBranch));

#[tokio::test]
async fn a_commit_of_the_branchs_past_is_on_it() {
    let tree = tree();
    let server = GitServer::start(&tree.repository, Manner::Willing).await;
    for id in [&tree.base, &tree.merged, &tree.tip] {
        assert_eq!(proven(&server, id, Some("main"), &[]).await, Ok(Some("main".to_owned())), "{id}");
    }
    assert_eq!(
        proven(&server, &tree.feature[..10], Some("feature/one"), &[]).await,
        Ok(Some("feature/one".to_owned()))
    );
}

#[tokio::test]
async fn a_commit_that_the_branch_does_not_have_is_not_on_it() {
    let tree = tree();
    let server = GitServer::start(&tree.repository, Manner::Willing).await;
    for (id, branch) in [
        (&tree.feature, "main"),
        (&tree.impostor, "main"),
        (&tree.tip, "merged"),
        (&tree.tip, "no-such-branch"),
        (&tree.tip, "refs/heads/main"),
        (&tree.feature, "*"),
        (&tree.feature, "feature/one:refs/heads/main"),
    ] {
        assert_eq!(proven(&server, id, Some(branch), &[]).await, NOT_ON_BRANCH, "{branch}");
    }
}

#[tokio::test]
async fn an_environments_branches_hold_beside_the_named_one() {
    let tree = tree();
    let server = GitServer::start(&tree.repository, Manner::Willing).await;
    let main = Ok(Some("main".to_owned()));
    assert_eq!(proven(&server, &tree.tip, None, &["no-such-branch", "main"]).await, main);
    assert_eq!(proven(&server, &tree.tip, Some("main"), &["main"]).await, main);
    assert_eq!(proven(&server, &tree.feature, None, &["main", "merged"]).await, NOT_ON_BRANCH);
    assert_eq!(proven(&server, &tree.feature, Some("feature/one"), &["main"]).await, NOT_ON_BRANCH);
    let both = proven(&server, &tree.merged, Some("merged"), &["main"]).await;
    assert_eq!(both, Ok(Some("merged".to_owned())), "it is on both");
}

#[tokio::test]
async fn a_commit_that_no_branch_has_is_not_deployed_to_a_lasting_environment() {
    let tree = tree();
    let server = GitServer::start(&tree.repository, Manner::Willing).await;
    assert_eq!(proven(&server, &tree.impostor, None, &[]).await, NOT_ON_BRANCH);
    assert_eq!(proven(&server, &tree.feature, None, &[]).await, Ok(Some("feature/one".to_owned())));
}
