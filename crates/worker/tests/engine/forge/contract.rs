//! Each call against the contracts that the forges publish: Prism rejects a request that does not fulfill the contract, and its
//! responses are the examples of the contract. Started by `e2e/forges/check`.

use greenroom_domain::forge::{ForgeKind, ForgeRepository};
use greenroom_worker::forge::{Connection, Forge, NewStatus, StatusState, VERIFIED_CONTEXT, connect};

use super::{COMMIT, NEW, local_client, requester, secret};

fn client(kind: ForgeKind, variable: &str, repository: &str) -> Box<dyn Forge> {
    let address =
        std::env::var(variable).unwrap_or_else(|_| panic!("{variable} must be an address of Prism"));
    let repository = ForgeRepository::parse(repository).unwrap();
    let connection = Connection { kind, address: &address, repository: &repository, token: secret("token") };
    connect(&local_client(), &requester(), connection).unwrap()
}

async fn call_everything(forge: &dyn Forge, branch: &str) {
    assert!(!forge.default_branch().await.unwrap().is_empty());
    assert!(forge.branch_head("fix/checkout").await.unwrap().is_some());
    let comparison = forge.compare("main", COMMIT).await.unwrap();
    assert!(!comparison.commits.is_empty() && !comparison.files.is_empty(), "{comparison:?}");
    assert!(!forge.pull_requests_of(branch).await.unwrap().is_empty());
    let opened = forge.open(&NEW).await.unwrap();
    assert!(opened.number > 0, "{opened:?}");
    for state in [StatusState::Pending, StatusState::Success, StatusState::Failure, StatusState::Error] {
        let status = NewStatus {
            commit: COMMIT,
            context: VERIFIED_CONTEXT,
            state,
            url: Some("https://greenroom.test/fixes/1"),
            description: "red, then green",
        };
        forge.status(&status).await.unwrap();
    }
}

#[tokio::test]
#[ignore = "needs Prism: e2e/forges/check"]
async fn github_accepts_each_call() {
    // As in the examples of the contract.
    let repository = "https://github.com/octocat/Hello-World";
    let forge = client(ForgeKind::Github, "GREENROOM_PRISM_GITHUB", repository);
    call_everything(forge.as_ref(), "new-topic").await;
}

#[tokio::test]
#[ignore = "needs Prism: e2e/forges/check"]
async fn forgejo_accepts_each_call() {
    let forge = client(ForgeKind::Forgejo, "GREENROOM_PRISM_FORGEJO", "https://forgejo.test/acme/shop");
    call_everything(forge.as_ref(), "fix/checkout").await;
}
