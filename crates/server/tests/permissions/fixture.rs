//! The fixture: two organizations, and every kind of caller in one of them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use greenroom_app::token::new_secret;
use jiff::{SignedDuration, Timestamp, Unit};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::operations::Role;
use crate::support::{Caller, TestServer, eventually};

/// Within this time a revoked right has to be ineffective everywhere.
pub const SECOND: Duration = Duration::from_secs(1);

/// The relation of a caller to the organization `acme`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Unauthenticated,
    /// The owner of another organization.
    Stranger,
    Member(Role),
    /// A member who does not hold the session of the call.
    NonHolder(Role),
    /// Another token of the service account that holds the session of the call.
    OtherToken(Role),
    /// An owner with a token that has only these scopes.
    Scoped(&'static [&'static str]),
    /// An owner with a token that is limited to a pipeline that no call is about.
    Elsewhere,
    /// An owner with a token that is limited to the pipeline of the call.
    Within,
    /// A viewer with a grant on the pipeline of the call.
    Granted(Role),
}

/// A grant that a caller gets on the pipeline of each call.
pub struct CallerGrant {
    pub token: String,
    /// `groups` or `users`.
    pub kind: &'static str,
    /// The id of the group or of the user.
    pub grantee: String,
    pub role: &'static str,
}

#[derive(Clone)]
pub struct Identity {
    pub name: &'static str,
    /// A token, or the cookie of a browser.
    pub token: Option<String>,
    /// The token that creates the records of a call.
    pub maker: Option<String>,
    pub relation: Relation,
    /// The user who is signed in with a browser. Each operation gets a new session of this user, because some of
    /// them end sessions.
    pub browser_of: Option<String>,
}

const SINGLE_SCOPES: [(&str, &[&str]); 6] = [
    ("read", &["read"]),
    ("hold", &["hold"]),
    ("deploy", &["deploy"]),
    ("start", &["start"]),
    ("write", &["write"]),
    ("admin", &["admin"]),
];
const KINDS: [(&str, &[&str]); 2] =
    [("agent", &["read", "hold", "deploy"]), ("ci", &["read", "hold", "deploy", "start"])];

/// All scopes that a token of a service account can have.
const SERVICE_SCOPES: &[&str] = &["read", "hold", "deploy", "start", "write"];

pub struct PermissionFixture {
    pub server: TestServer,
    pub pool: PgPool,
    pub owner: Caller,
    pub stranger: Caller,
    /// The callers whose rights come from grants.
    pub granted: Vec<CallerGrant>,
    name_counter: AtomicU32,
    /// The digest that a vote on the approval which was created last has to name.
    pub digest: Mutex<String>,
}

impl PermissionFixture {
    pub async fn new(pool: &PgPool) -> Self {
        let server = TestServer::start(pool).await;
        let owner = server.organization("acme").await;
        let stranger = server.organization("globex").await;
        Self {
            server,
            pool: pool.clone(),
            owner,
            stranger,
            granted: Vec::new(),
            name_counter: AtomicU32::new(0),
            digest: Mutex::default(),
        }
    }

    /// Returns a name that was not used before.
    pub fn unique_name(&self) -> String {
        format!("w{}", self.name_counter.fetch_add(1, Ordering::Relaxed))
    }

    pub async fn member(&self, role: &str) -> Caller {
        self.server.member(&self.owner, "acme", role).await
    }

    /// Returns a caller for each relation, with a token that has all scopes.
    pub async fn identities(&self) -> Vec<Identity> {
        let mut identities = Vec::new();
        let mut add = |name, token: Option<String>, relation| {
            identities.push(Identity { name, maker: token.clone(), token, relation, browser_of: None });
        };
        add("none", None, Relation::Unauthenticated);
        add("garbage", Some("grn_not-a-token".to_owned()), Relation::Unauthenticated);
        add("checksum", Some(mistyped(&self.owner.token)), Relation::Unauthenticated);
        add("unknown", Some(new_secret().reveal().to_owned()), Relation::Unauthenticated);
        add("expired", Some(self.expired().await), Relation::Unauthenticated);
        add("revoked", Some(self.revoked().await), Relation::Unauthenticated);
        add("removed", Some(self.removed().await), Relation::Unauthenticated);
        add("stranger", Some(self.stranger.token.clone()), Relation::Stranger);
        add("demoted", Some(self.demoted().await), Relation::Member(Role::Viewer));
        for (role, name) in Role::ALL {
            add(name, Some(self.member(name).await.token), Relation::Member(role));
        }
        identities
    }

    /// Returns tokens that can do less than their user, and members who do not hold the session of a call.
    pub async fn restricted_identities(&self) -> Vec<Identity> {
        let owner = self.member("owner").await;
        let made = async |body: Value| {
            let made = self.server.post("/organizations/acme/api-tokens", &owner.token, body).await;
            Some(made.succeeded(201).field("token"))
        };
        let maker = Some(owner.token.clone());
        let mut identities = Vec::new();
        for (name, scopes) in SINGLE_SCOPES {
            let token = made(json!({ "name": name, "scopes": scopes })).await;
            identities.push(Identity {
                name,
                token,
                maker: maker.clone(),
                relation: Relation::Scoped(scopes),
                browser_of: None,
            });
        }
        for (name, scopes) in KINDS {
            // With force, so that they differ from a person's token only in their scopes.
            let token = made(json!({ "name": name, "kind": name, "allowForce": true })).await;
            identities.push(Identity {
                name,
                token,
                maker: maker.clone(),
                relation: Relation::Scoped(scopes),
                browser_of: None,
            });
        }
        for (name, role, of) in
            [("developer*", Role::Developer, "developer"), ("maintainer*", Role::Maintainer, "maintainer")]
        {
            let token = Some(self.member(of).await.token);
            identities.push(Identity {
                name,
                token,
                maker: maker.clone(),
                relation: Relation::NonHolder(role),
                browser_of: None,
            });
        }
        // A program that administers nothing, although its account is an admin; and another token of an account.
        let account = self.service_account("admin").await;
        let token = Some(self.service_token(&account).await);
        identities.push(Identity {
            name: "service",
            maker: token.clone(),
            token,
            relation: Relation::Scoped(SERVICE_SCOPES),
            browser_of: None,
        });
        let account = self.service_account("developer").await;
        identities.push(Identity {
            name: "service*",
            maker: Some(self.service_token(&account).await),
            token: Some(self.service_token(&account).await),
            relation: Relation::OtherToken(Role::Developer),
            browser_of: None,
        });
        let pipeline = self.server.pipeline(&self.owner, &self.unique_name()).await;
        let token = made(json!({ "name": "elsewhere", "pipelines": [pipeline] })).await;
        identities.push(Identity {
            name: "elsewhere",
            token,
            maker: maker.clone(),
            relation: Relation::Elsewhere,
            browser_of: None,
        });
        let token = maker.clone();
        identities.push(Identity {
            name: "within",
            token,
            maker,
            relation: Relation::Within,
            browser_of: None,
        });
        identities
    }

    /// Creates a service account. Returns its id.
    pub async fn service_account(&self, role: &str) -> String {
        let body = json!({ "name": self.unique_name(), "role": role });
        let made = self.server.post("/organizations/acme/service-accounts", &self.owner.token, body).await;
        made.succeeded(201).field("id")
    }

    /// Creates a token of a service account with everything that it can have. Returns its secret.
    pub async fn service_token(&self, account: &str) -> String {
        let path = format!("/organizations/acme/service-accounts/{account}/api-tokens");
        let body = json!({ "name": self.unique_name(), "scopes": SERVICE_SCOPES, "allowForce": true });
        self.server.post(&path, &self.owner.token, body).await.succeeded(201).field("token")
    }

    /// Returns the same callers, each person in a browser with a new session.
    pub async fn renewed(&self, identities: &[Identity]) -> Vec<Identity> {
        let mut renewed = Vec::with_capacity(identities.len());
        for identity in identities {
            let mut identity = identity.clone();
            if let Some(user) = &identity.browser_of {
                identity.token = Some(self.server.browser(user).await);
            }
            renewed.push(identity);
        }
        renewed
    }

    /// Creates a token of the caller that is limited to the pipeline of a target.
    pub async fn token_within(&self, identity: &Identity, target: &str) -> String {
        let (token, pipeline) = (identity.maker.as_deref().unwrap(), self.pipeline_of(target).await);
        // Each of these is used once, and a person can't have more than a hundred.
        let revoke = "update api_tokens set revoked_at = clock_timestamp() where name = 'within' and revoked_at is null";
        sqlx::query(revoke).execute(&self.pool).await.unwrap();
        let body = json!({ "name": "within", "pipelines": [pipeline] });
        let made = self.server.post("/organizations/acme/api-tokens", token, body).await;
        made.succeeded(201).field("token")
    }

    /// Returns the pipeline of a target.
    pub async fn pipeline_of(&self, target: &str) -> String {
        let first = target.split('/').next().unwrap();
        let records = [
            ("dep_", "deployments"),
            ("sec_", "secrets"),
            ("apr_", "approvals"),
            ("ana_", "analyses"),
            ("fix_", "fix-pull-requests"),
        ];
        match records.iter().find(|(prefix, _)| first.starts_with(prefix)) {
            Some((_, records)) => {
                let path = format!("/organizations/acme/{records}/{first}");
                self.server.get(&path, &self.owner.token).await.succeeded(200).field("pipelineId")
            }
            None => first.to_owned(),
        }
    }

    /// Returns the id of an event of that type, once it is sequenced.
    pub async fn event(&self, event_type: &str) -> String {
        let path = format!("/organizations/{}/events?type={event_type}", self.owner.organization);
        let there = eventually(Duration::from_secs(5), async || {
            self.server.get(&path, &self.owner.token).await.json["data"][0]["id"].is_string()
        });
        assert!(there.await, "there is no {event_type}");
        let list = self.server.get(&path, &self.owner.token).await;
        list.json["data"][0]["id"].as_str().unwrap().to_owned()
    }

    async fn expired(&self) -> String {
        let (id, secret) = self.own_token().await;
        let expire = "update api_tokens set expires_at = clock_timestamp() - interval '1 millisecond'
                      where 'tok_' || id = $1";
        let done = sqlx::query(expire).bind(&id).execute(&self.pool).await.unwrap();
        assert_eq!(done.rows_affected(), 1);
        self.until_dead(&secret).await;
        secret
    }

    async fn revoked(&self) -> String {
        let (id, secret) = self.own_token().await;
        let path = format!("/organizations/acme/api-tokens/{id}");
        self.server.delete(&path, &self.owner.token).await.succeeded(200);
        self.until_dead(&secret).await;
        secret
    }

    async fn removed(&self) -> String {
        let owner = self.member("owner").await;
        self.server.get("/me", &owner.token).await.succeeded(200);
        let path = format!("/organizations/acme/members/{}", owner.user);
        self.server.delete(&path, &self.owner.token).await.succeeded(200);
        self.until_dead(&owner.token).await;
        owner.token
    }

    async fn demoted(&self) -> String {
        let owner = self.member("owner").await;
        self.server.get("/me", &owner.token).await.succeeded(200);
        let path = format!("/organizations/acme/members/{}", owner.user);
        self.server.patch(&path, &self.owner.token, json!({ "role": "viewer" })).await.succeeded(200);
        let in_time =
            eventually(SECOND, async || self.server.get("/me", &owner.token).await.field("role") == "viewer");
        assert!(in_time.await, "the new role did not take effect within a second");
        owner.token
    }

    /// Creates a token of the owner and uses it once.
    async fn own_token(&self) -> (String, String) {
        let made =
            self.server.post("/organizations/acme/api-tokens", &self.owner.token, json!({ "name": "short" }));
        let made = made.await.succeeded(201);
        self.server.get("/me", &made.field("token")).await.succeeded(200);
        (made.field("id"), made.field("token"))
    }

    pub async fn until_dead(&self, token: &str) {
        let in_time = eventually(SECOND, async || self.server.get("/me", token).await.status == 401);
        assert!(in_time.await, "the token was still valid after a second");
    }
}

/// Returns the token with one character changed.
pub fn mistyped(token: &str) -> String {
    let last = if token.ends_with('x') { "y" } else { "x" };
    format!("{}{last}", &token[..token.len() - 1])
}

#[expect(clippy::disallowed_methods, reason = "an expiry in days does not depend on whose clock it is")]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// Returns the time in that many days. Tokens of programs are valid for 366 days at most.
pub fn in_days(days: i64) -> String {
    let at = now() + SignedDuration::from_hours(24 * days);
    at.round(Unit::Second).unwrap().to_string()
}
