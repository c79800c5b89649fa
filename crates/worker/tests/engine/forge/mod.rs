//! The client on a recording forge, on one that attacks it, and on the contracts that the forges publish.

mod calls;
mod contract;
mod hostile;
mod once;

use greenroom_domain::forge::{ForgeKind, ForgeRepository};
use greenroom_domain::secret::Secret;
use greenroom_outbound::{AllowList, OutboundClient, Purpose, Requester};
use greenroom_recording_forge::{Dialect, OWNER, RecordedPullRequest, RecordingForge, TOKEN};
use greenroom_worker::forge::{Connection, Forge, NewPullRequest, connect};

const COMMIT: &str = "1111111111111111111111111111111111111111";
const BRANCH: &str = "fix/checkout";

/// A client that may connect to this machine, as an operator allows it for tests.
fn local_client() -> OutboundClient {
    OutboundClient::new(AllowList::new(["127.0.0.0/8".parse().unwrap()]))
}

fn requester() -> Requester {
    Requester::operator(Purpose::Forge)
}

fn secret(token: &str) -> Secret {
    Secret::from_opened(token.as_bytes().to_vec().into())
}

fn client_for(forge: &RecordingForge, token: &str) -> Box<dyn Forge> {
    let kind = match forge.dialect {
        Dialect::Github => ForgeKind::Github,
        Dialect::Forgejo => ForgeKind::Forgejo,
    };
    let repository = ForgeRepository::parse(&forge.repository()).unwrap();
    let connection =
        Connection { kind, address: &forge.address(), repository: &repository, token: secret(token) };
    connect(&local_client(), &requester(), connection).unwrap()
}

/// Starts a forge with a branch that has a fix.
async fn start(dialect: Dialect) -> (RecordingForge, Box<dyn Forge>) {
    let forge = RecordingForge::start(dialect).await;
    forge.state().branches.insert(BRANCH.to_owned(), COMMIT.to_owned());
    let client = client_for(&forge, TOKEN);
    (forge, client)
}

const NEW: NewPullRequest<'static> = NewPullRequest {
    head: BRANCH,
    commit: COMMIT,
    base: "main",
    title: "Migrate before seed",
    body: "red, then green",
};

/// A pull request of another state than the client would make.
fn recorded(head: &str, commit: &str) -> RecordedPullRequest {
    RecordedPullRequest {
        number: 0,
        title: "other".to_owned(),
        body: String::new(),
        head_owner: OWNER.to_owned(),
        head: head.to_owned(),
        head_commit: commit.to_owned(),
        base: "main".to_owned(),
        is_draft: false,
        is_open: true,
        is_merged: false,
    }
}

const DIALECTS: [Dialect; 2] = [Dialect::Github, Dialect::Forgejo];
