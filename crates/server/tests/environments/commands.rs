//! Commands that are opened without HTTP, as a trigger does: the same use cases, permissions and idempotency.

use greenroom_app::App;
use greenroom_app::command::{
    Authorize, CommandRequest, ConnectionUse, Fingerprint, Interruption, OperationKey, Replayable,
};
use greenroom_app::failure::{Code, Failure};
use greenroom_app::session::view::SessionView;
use greenroom_app::session::{ClaimRequest, Place, claim, hold};
use greenroom_app::web_url::WebUrls;
use greenroom_domain::id::SessionId;
use greenroom_domain::policy::Act;
use greenroom_domain::policy::action::{PipelineEdit, SessionHold};
use greenroom_domain::principal::{Credential, Principal};
use greenroom_store::idempotency::StoredResponse;
use greenroom_store::pipeline::PipelineName;

use crate::fixture::EnvironmentFixture;
use crate::support::Caller;
use crate::support::database::TestDatabase;

/// A response that is not HTTP's.
#[derive(Debug, PartialEq, Eq)]
struct SessionReference(SessionId);

impl Replayable for SessionReference {
    fn to_stored(&self, fingerprint: Vec<u8>) -> StoredResponse {
        StoredResponse { fingerprint, status: 200, body: self.0.to_string(), etag: None }
    }
}

fn reference(_: WebUrls<'_>, view: SessionView) -> Result<SessionReference, Failure> {
    Ok(SessionReference(view.session.id))
}

fn app(fixture: &EnvironmentFixture) -> &App {
    &fixture.server.server.app
}

async fn principal(fixture: &EnvironmentFixture, caller: &Caller) -> Principal {
    let organization = caller.organization.parse().unwrap();
    let credential = Credential::Token(caller.token_id.parse().unwrap());
    let command = app(fixture).store.command(organization, credential, "req_test").await.unwrap().unwrap();
    command.principal().clone()
}

fn qa_1(fixture: &EnvironmentFixture) -> Place {
    let pipeline = PipelineName::parse(&fixture.pipeline).unwrap();
    Place { pipeline, environment: "qa-1".to_owned() }
}

fn delivery(input: &str) -> OperationKey {
    OperationKey {
        method: "trigger".to_owned(),
        path: "claim/qa-1".to_owned(),
        alias_path: None,
        key: "delivery-1".to_owned(),
        fingerprint: Fingerprint { hash: input.as_bytes().to_vec(), former_hashes: Vec::new() },
    }
}

fn request<'a>(app: &'a App, principal: &'a Principal, key: Option<OperationKey>) -> CommandRequest<'a> {
    let authorize: Authorize = SessionHold::check;
    CommandRequest {
        app,
        principal,
        request_id: "req_test",
        authorize,
        granted_on: None,
        key,
        connection: ConnectionUse::OfSlot,
    }
}

#[tokio::test]
async fn a_claim_without_http_is_idempotent() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let (app, principal, place) = (app(&fixture), principal(&fixture, &fixture.dev).await, qa_1(&fixture));
    let first = request(app, &principal, Some(delivery("input")));
    let SessionReference(session) =
        claim::claim(&first, &place, &ClaimRequest::default(), reference).await.unwrap();
    let record = fixture.get(&fixture.dev, "").await.is(200);
    assert_eq!(record["data"]["lock"]["sessionId"], session.to_string());

    let repeated = claim::claim(&first, &place, &ClaimRequest::default(), reference).await.unwrap_err();
    let is_same = |stored: &StoredResponse| stored.body == session.to_string();
    assert!(matches!(&repeated, Interruption::Replayed(stored) if is_same(stored)), "{repeated:?}");
    let other = request(app, &principal, Some(delivery("another input")));
    let other = claim::claim(&other, &place, &ClaimRequest::default(), reference).await.unwrap_err();
    assert!(other.has_code(Code::IdempotencyKeyReused), "{other:?}");
    fixture.end().await;
}

#[tokio::test]
async fn a_session_is_held_and_released_without_http() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let (app, principal, place) = (app(&fixture), principal(&fixture, &fixture.dev).await, qa_1(&fixture));
    let request = request(app, &principal, None);
    let claimed = claim::claim(&request, &place, &ClaimRequest::default(), reference).await.unwrap();
    let refused = claim::claim(&request, &place, &ClaimRequest::default(), reference).await.unwrap_err();
    assert!(refused.has_code(Code::HeldByYou), "{refused:?}");

    let mut command = request.open().await.unwrap();
    hold::renew(&mut command, &place, claimed.0).await.unwrap();
    command.commit().await.unwrap();
    assert_eq!(hold::release(&request, &place, claimed.0, reference).await.unwrap(), claimed);
    let record = fixture.get(&fixture.dev, "").await.is(200);
    assert_eq!(record["data"]["lock"]["status"], "free");

    let forbidden = CommandRequest { authorize: PipelineEdit::check, ..request };
    let forbidden = forbidden.open().await.err().unwrap();
    assert!(forbidden.has_code(Code::Forbidden), "{forbidden:?}");
    fixture.end().await;
}
