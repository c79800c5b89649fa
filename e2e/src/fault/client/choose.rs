//! Chooses a client's next request: at random, from what the client remembers, and at the moments that are
//! most likely to expose a race.

use rand::RngExt;
use reqwest::Method;
use serde_json::json;
use uuid::Uuid;

use crate::fault::client::Client;
use crate::fault::client::http::Request;
use crate::fault::clock::Micros;
use crate::fault::history::{Environment, Kind};

/// A lease that ends sooner than this is renewed right at its end.
const RENEWAL_WINDOW: Micros = 250_000;
/// The minimum that the API accepts.
const HANDOVER_GRACE_SECONDS: u32 = 60;

impl Client {
    /// Returns the next request, and when to send it.
    pub(super) fn choose(&mut self) -> (Request, Micros) {
        let now = self.shared.clock.now();
        if let Some(held) = self
            .memory
            .held
            .iter()
            .find(|held| (0..RENEWAL_WINDOW).contains(&(held.expires_at - now)))
            .copied()
            && !self.memory.only_read.contains(&held.session)
            && self.rng.random_ratio(6, 10)
        {
            let kind = if self.rng.random_ratio(1, 5) { Kind::Deploy } else { Kind::Renew };
            let before = self.rng.random_range(-10_000..50_000);
            return (self.session_request(kind, held.environment, held.session), held.expires_at - before);
        }
        let request = match self.rng.random_range(0..100) {
            0..30 if !self.memory.held.is_empty() => self.holder_request(),
            30..55 if !self.memory.waiting.is_empty() => self.waiter_request(),
            0..60 => self.new_session_request(),
            60..66 => self.foreign_request(),
            66..73 => self.past_session_request(),
            73..75 => self.read_request(Kind::List, None),
            _ => {
                let environment = self.random_environment();
                self.read_request(Kind::GetEnvironment, Some(environment))
            }
        };
        (request, now)
    }

    fn holder_request(&mut self) -> Request {
        let held = self.memory.held[self.rng.random_range(0..self.memory.held.len())];
        if self.memory.only_read.contains(&held.session) {
            return self.session_request(Kind::GetSession, held.environment, held.session);
        }
        let kind = match self.rng.random_range(0..10) {
            0..4 => Kind::Release,
            4..6 => Kind::Deploy,
            6..8 => Kind::Renew,
            8 => Kind::Heartbeat,
            _ => Kind::GetSession,
        };
        self.session_request(kind, held.environment, held.session)
    }

    fn waiter_request(&mut self) -> Request {
        let (environment, session) = self.memory.waiting[self.rng.random_range(0..self.memory.waiting.len())];
        if self.memory.only_read.contains(&session) {
            return self.session_request(Kind::GetSession, environment, session);
        }
        let kind = match self.rng.random_range(0..16) {
            0..2 => Kind::Release,
            2..6 => Kind::GetSession,
            _ => Kind::Heartbeat,
        };
        self.session_request(kind, environment, session)
    }

    fn new_session_request(&mut self) -> Request {
        let environment = self.random_environment();
        let full = self.memory.held.len() + self.memory.waiting.len() >= 3;
        match self.rng.random_range(0..20) {
            _ if full => self.read_request(Kind::GetEnvironment, Some(environment)),
            0..2 => self.random_claim_request(Kind::Force, environment),
            2..9 => self.random_claim_request(Kind::Queue, environment),
            _ => self.random_claim_request(Kind::Claim, environment),
        }
    }

    /// Tries what only the session's own user may do.
    fn foreign_request(&mut self) -> Request {
        let environment = self.random_environment();
        if self.rng.random_ratio(1, 4)
            && let Some(deployment) = self.shared.board.deployment(environment)
        {
            return self.cancel_request(environment, deployment);
        }
        let kind = match self.rng.random_range(0..10) {
            0 => Kind::Renew,
            1 => Kind::Deploy,
            2 => Kind::Heartbeat,
            _ => Kind::Release,
        };
        match self.shared.board.session_of_other(environment, self.me.user) {
            Some(session) => self.session_request(kind, environment, session),
            None => self.read_request(Kind::GetEnvironment, Some(environment)),
        }
    }

    /// Acts in a session that has ended.
    fn past_session_request(&mut self) -> Request {
        let kinds = [Kind::Release, Kind::Renew, Kind::Deploy, Kind::Heartbeat, Kind::GetSession];
        let kind = kinds[self.rng.random_range(0..kinds.len())];
        match self.memory.past.len() {
            0 => self.new_session_request(),
            length => {
                let (environment, session) = self.memory.past[self.rng.random_range(0..length)];
                self.session_request(kind, environment, session)
            }
        }
    }

    /// Prefers the first few environments, so that clients contend for them.
    fn random_environment(&mut self) -> Environment {
        let own = self.environments.len();
        let index = match self.rng.random_range(0..10) {
            0..5 => self.rng.random_range(0..own.min(2)),
            _ => self.rng.random_range(0..own),
        };
        self.environments[index]
    }

    pub(super) fn read_request(&self, kind: Kind, environment: Option<Environment>) -> Request {
        self.request(kind, Method::GET, environment, None, "", None)
    }

    /// A request about a session.
    pub(crate) fn session_request(&self, kind: Kind, environment: Environment, session: Uuid) -> Request {
        let path = format!("/sessions/ses_{session}");
        let (environment, session) = (Some(environment), Some(session));
        match kind {
            Kind::Release => self.request(kind, Method::DELETE, environment, session, &path, None),
            Kind::Renew => {
                self.request(kind, Method::POST, environment, session, &format!("{path}/renew"), None)
            }
            Kind::Heartbeat => {
                self.request(kind, Method::POST, environment, session, &format!("{path}/heartbeat"), None)
            }
            Kind::Deploy => {
                let body = |number: u64| json!({ "commitId": commit(number) }).to_string();
                let path = format!("{path}/deploy");
                self.request(kind, Method::POST, environment, session, &path, Some(&body))
            }
            Kind::RequestHandover => {
                let body = |number: u64| {
                    json!({ "context": number.to_string(), "graceSeconds": HANDOVER_GRACE_SECONDS })
                        .to_string()
                };
                let path = format!("{path}/request-handover");
                self.request(kind, Method::POST, environment, session, &path, Some(&body))
            }
            Kind::AcceptHandover => self.request(
                kind,
                Method::POST,
                environment,
                session,
                &format!("{path}/handover/accept"),
                None,
            ),
            Kind::DeclineHandover => self.request(
                kind,
                Method::POST,
                environment,
                session,
                &format!("{path}/handover/decline"),
                None,
            ),
            _ => self.request(Kind::GetSession, Method::GET, environment, session, &path, None),
        }
    }

    fn cancel_request(&self, environment: Environment, deployment: Uuid) -> Request {
        let mut request = self.request(Kind::Cancel, Method::POST, Some(environment), None, "", None);
        let slug = &self.shared.fixture.organizations[self.me.organization].slug;
        request.path = format!("/organizations/{slug}/deployments/dep_{deployment}/cancel");
        (request.deployment, request.body) = (Some(deployment), Some("{}".to_owned()));
        request
    }

    fn random_claim_request(&mut self, kind: Kind, environment: Environment) -> Request {
        let ttl = self.rng.random_range(1..=3);
        let with_commit = self.rng.random_ratio(1, 6);
        self.claim_request(kind, environment, ttl, with_commit)
    }

    pub(crate) fn claim_request(
        &self,
        kind: Kind,
        environment: Environment,
        ttl: u32,
        with_commit: bool,
    ) -> Request {
        let body = |number: u64| {
            let mut body = json!({ "ttlSeconds": ttl, "context": number.to_string() });
            if kind == Kind::Queue {
                body["queue"] = true.into();
            }
            if with_commit {
                body["commitId"] = commit(number).into();
            }
            body.to_string()
        };
        let path = if kind == Kind::Force { "/force-claim" } else { "/sessions" };
        self.request(kind, Method::POST, Some(environment), None, path, Some(&body))
    }

    fn request(
        &self,
        kind: Kind,
        method: Method,
        environment: Option<Environment>,
        session: Option<Uuid>,
        rest: &str,
        body: Option<&dyn Fn(u64) -> String>,
    ) -> Request {
        let organization = self.me.organization;
        let fixture = &self.shared.fixture;
        let base = &fixture.organizations[organization].path;
        let name =
            environment.map_or_else(String::new, |index| format!("/{}", fixture.environments[index].name));
        let number = self.shared.progress.number();
        let (path, body) = (format!("{base}{name}{rest}"), body.map(|body| body(number)));
        Request { number, kind, organization, environment, session, deployment: None, method, path, body }
    }
}

/// Returns a commit id that no other request uses.
fn commit(number: u64) -> String {
    format!("{number:010x}")
}
