//! Who is counted with whom: the tokens and browser sessions of a person together, members and runners apart.

use std::time::Duration;

use greenroom_app::failure::Failure;
use greenroom_app::internals::OrganizationShares;
use greenroom_app::limits::{Bearer, Class, Counted, LimitSettings, Limits, Party, Sender};
use greenroom_domain::browser_session::BrowserPrincipal;
use greenroom_domain::id::{BrowserSessionId, OrganizationId, PoolId, RunnerId, TokenId, UserId};
use greenroom_domain::owner::ServiceToken;
use greenroom_domain::pipeline_limit::PipelineLimit;
use greenroom_domain::principal::{Credential, Principal};
use greenroom_domain::role::Role;
use greenroom_domain::scope::Scopes;
use greenroom_domain::token::TokenKind;
use greenroom_store::job::RunnerPrincipal;
use uuid::Uuid;

const DEADLINE: Duration = Duration::from_secs(15);
const ACME: u128 = 1;
const ANNA: u128 = 10;
const BERT: u128 = 11;

fn principal(user: u128, credential: Credential) -> Principal {
    Principal {
        organization_id: OrganizationId::from(Uuid::from_u128(ACME)),
        organization_slug: "acme".to_owned(),
        user_id: UserId::from(Uuid::from_u128(user)),
        user_name: "Name".to_owned(),
        role: Role::Viewer,
        credential,
        token_kind: TokenKind::User,
        token_allow_force: false,
        token_expires_at: None,
        scopes: Scopes::ALL,
        pipelines: PipelineLimit::All,
        max_sessions: None,
        service_token: None,
        lineage: Vec::new(),
    }
}

fn token(user: u128, id: u128) -> Bearer {
    Bearer::from(&principal(user, Credential::Token(TokenId::from(Uuid::from_u128(id)))))
}

fn browser(user: u128, id: u128) -> Bearer {
    Bearer::from(&principal(user, Credential::Browser(BrowserSessionId::from(Uuid::from_u128(id)))))
}

/// A browser session in a request that belongs to no organization.
fn browser_outside(user: u128, id: u128) -> Bearer {
    Bearer::from(&BrowserPrincipal {
        session_id: BrowserSessionId::from(Uuid::from_u128(id)),
        user_id: UserId::from(Uuid::from_u128(user)),
        email: "a@acme.test".to_owned(),
        memberships: Vec::new(),
    })
}

fn service_token(account: u128, id: u128) -> Bearer {
    let id = TokenId::from(Uuid::from_u128(id));
    let service_token = Some(ServiceToken { id, name: "ci".to_owned() });
    Bearer::from(&Principal { service_token, ..principal(account, Credential::Token(id)) })
}

fn runner(id: u128) -> Bearer {
    Bearer::from(&RunnerPrincipal {
        organization_id: OrganizationId::from(Uuid::from_u128(ACME)),
        id: RunnerId::from(Uuid::from_u128(id)),
        name: "runner".to_owned(),
        pool_id: PoolId::from(Uuid::from_u128(2)),
    })
}

fn limits(settings: LimitSettings) -> Limits {
    Limits::with(DEADLINE, settings)
}

fn refused<T>(result: Result<T, Failure>) -> String {
    result.err().map(|failure| failure.detail.into_owned()).unwrap_or_default()
}

const OF_PERSON: &str = "of this person (all tokens and browser sessions)";

#[test]
fn tokens_and_browsers_of_a_person_are_one_party() {
    let small = LimitSettings { person_in_flight: 3, person_streams: 3, ..LimitSettings::default() };
    let limits = limits(LimitSettings { person_downloads: 3, person_searches: 3, ..small });
    let uses: [&dyn Fn(Bearer) -> Result<Counted, Failure>; 6] = [
        &|bearer| limits.admit(Sender::Bearer(bearer), Class::General, false),
        &|bearer| limits.admit(Sender::Bearer(bearer), Class::Reserved, false),
        &|bearer| limits.admit(Sender::Bearer(bearer), Class::General, true),
        &|bearer| limits.stream(bearer),
        &|bearer| limits.download(bearer),
        &|bearer| limits.search(bearer),
    ];
    for count in uses {
        let own = [token(ANNA, 20), token(ANNA, 21), browser(ANNA, 22)].map(|bearer| count(bearer).unwrap());
        for further in [token(ANNA, 23), browser(ANNA, 24), browser_outside(ANNA, 25)] {
            assert!(refused(count(further)).contains(OF_PERSON), "{}", refused(count(further)));
        }
        drop(count(token(BERT, 30)).unwrap());
        drop(own);
        drop(count(token(ANNA, 23)).unwrap());
    }
}

#[test]
fn tokens_of_a_service_account_have_no_person() {
    let limits = limits(LimitSettings { person_in_flight: 1, ..LimitSettings::default() });
    let admit = |bearer| limits.admit(Sender::Bearer(bearer), Class::General, false);
    let _counted = [20, 21, 22].map(|id| admit(service_token(ANNA, id)).unwrap());
}

#[test]
fn a_request_that_awaits_its_body_takes_no_place_of_one_that_can_be_served() {
    let limits = limits(LimitSettings { person_in_flight: 2, ..LimitSettings::default() });
    for class in [Class::General, Class::Reserved] {
        let admit = |awaits| limits.admit(Sender::Bearer(token(ANNA, 20)), class, awaits);
        let waiting = [admit(true).unwrap(), admit(true).unwrap()];
        assert!(refused(admit(true)).contains("whose body has not arrived"), "{}", refused(admit(true)));
        let served = [admit(false).unwrap(), admit(false).unwrap()];
        // A body that arrives now finds both places taken.
        assert!(refused(limits.body_arrived(token(ANNA, 21), class)).contains("under way"));
        drop(served);
        drop(limits.body_arrived(token(ANNA, 21), class).unwrap());
        drop(waiting);
    }
}

#[test]
fn members_take_nothing_of_what_runners_may_use() {
    let settings =
        LimitSettings { organization_in_flight: 2, organization_rate: 1, ..LimitSettings::default() };
    let limits = limits(LimitSettings { organization_burst: 4, organization_downloads: 2, ..settings });
    let admit = |bearer, awaits| limits.admit(Sender::Bearer(bearer), Class::General, awaits);
    let _members = [ANNA, BERT].map(|user| {
        [
            admit(token(user, user), false).unwrap(),
            admit(token(user, user), true).unwrap(),
            limits.download(token(user, user)).unwrap(),
        ]
    });
    assert!(refused(admit(token(12, 12), false)).contains("of this organization under way"));
    assert!(refused(limits.download(token(12, 12))).contains("of this organization already"));
    let _runners = [40, 41].map(|id| {
        (
            admit(runner(id), false).unwrap(),
            admit(runner(id), true).unwrap(),
            limits.download(runner(id)).unwrap(),
        )
    });
    assert!(refused(admit(runner(42), false)).contains("of this organization's runners under way"));
}

#[test]
fn the_rates_are_those_of_a_person() {
    let settings = LimitSettings { person_rate: 1, person_burst: 4, ..LimitSettings::default() };
    let limits = limits(LimitSettings { person_search_mib: 1, ..settings });
    let admit = |bearer| limits.admit(Sender::Bearer(bearer), Class::General, false).map(drop);
    for id in 20..24 {
        admit(token(ANNA, id)).unwrap();
    }
    assert!(refused(admit(browser(ANNA, 24))).contains("per second came from this person"));
    admit(token(BERT, 30)).unwrap();
    let burst = 16 * 1024 * 1024;
    limits.search_bytes(token(ANNA, 20), burst).unwrap();
    assert_eq!(limits.search_bytes(token(ANNA, 21), burst).unwrap_err().name(), "person_search_kib");
    limits.search_bytes(token(BERT, 30), burst).unwrap();
}

fn try_all(shares: &OrganizationShares, bearer: Bearer, person: Option<Party>) -> Vec<impl Sized> {
    std::iter::from_fn(|| shares.try_acquire(bearer, person)).take(100).collect()
}

#[tokio::test]
async fn runners_keep_a_quarter_of_the_share_and_other_members_a_quarter() {
    let shares = OrganizationShares::new(8);
    let person = |user| Some(Party::Person(Uuid::from_u128(user)));
    let anna = try_all(&shares, token(ANNA, 20), person(ANNA));
    assert_eq!(anna.len(), 4);
    assert_eq!(try_all(&shares, browser(ANNA, 21), person(ANNA)).len(), 0);
    let bert = try_all(&shares, token(BERT, 30), person(BERT));
    assert_eq!(bert.len(), 2);
    // Service accounts are members without a share of their own.
    assert_eq!(try_all(&shares, service_token(12, 31), None).len(), 0);
    assert_eq!(try_all(&shares, runner(40), None).len(), 2);
    drop((anna, bert));
    // What a waiting request has acquired is released if it gives up.
    let theirs = try_all(&shares, runner(40), None);
    assert_eq!(theirs.len(), 8);
    let waiting = shares.acquire(token(ANNA, 20), person(ANNA), 1);
    assert!(tokio::time::timeout(Duration::from_millis(10), waiting).await.is_err());
    drop(theirs);
    assert_eq!(try_all(&shares, token(ANNA, 20), person(ANNA)).len(), 4);
    assert_eq!(try_all(&OrganizationShares::new(0), token(ANNA, 20), person(ANNA)).len(), 100);
    assert_eq!(try_all(&OrganizationShares::new(1), token(ANNA, 20), person(ANNA)).len(), 1);
}
