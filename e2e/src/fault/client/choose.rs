//! What a client does next: by chance, by what it remembers, and at the worst moments that it can find.

use rand::RngExt;
use reqwest::Method;
use serde_json::json;
use uuid::Uuid;

use crate::fault::client::Client;
use crate::fault::client::http::Request;
use crate::fault::clock::Micros;
use crate::fault::history::{Environment, Kind};

/// A lease that ends sooner than this is renewed at its very end.
const SOON: Micros = 250_000;
/// The shortest that may be asked for.
const HANDOVER_GRACE_SECONDS: u32 = 60;

impl Client {
    /// What to ask, and when.
    pub(super) fn choose(&mut self) -> (Request, Micros) {
        let now = self.shared.clock.now();
        if let Some(held) =
            self.memory.held.iter().find(|held| (0..SOON).contains(&(held.expires_at - now))).copied()
            && !self.memory.only_read.contains(&held.session)
            && self.rng.random_ratio(6, 10)
        {
            let kind = if self.rng.random_ratio(1, 5) { Kind::Deploy } else { Kind::Renew };
            let before = self.rng.random_range(-10_000..50_000);
            return (self.about(kind, held.environment, held.session), held.expires_at - before);
        }
        let request = match self.rng.random_range(0..100) {
            0..30 if !self.memory.held.is_empty() => self.as_holder(),
            30..55 if !self.memory.waiting.is_empty() => self.as_waiter(),
            0..60 => self.claim(),
            60..66 => self.meddle(),
            66..73 => self.with_the_past(),
            73..75 => self.plain(Kind::List, None),
            _ => {
                let environment = self.environment();
                self.plain(Kind::GetEnvironment, Some(environment))
            }
        };
        (request, now)
    }

    fn as_holder(&mut self) -> Request {
        let held = self.memory.held[self.rng.random_range(0..self.memory.held.len())];
        if self.memory.only_read.contains(&held.session) {
            return self.about(Kind::GetSession, held.environment, held.session);
        }
        let kind = match self.rng.random_range(0..10) {
            0..4 => Kind::Release,
            4..6 => Kind::Deploy,
            6..8 => Kind::Renew,
            8 => Kind::Heartbeat,
            _ => Kind::GetSession,
        };
        self.about(kind, held.environment, held.session)
    }

    fn as_waiter(&mut self) -> Request {
        let (environment, session) = self.memory.waiting[self.rng.random_range(0..self.memory.waiting.len())];
        if self.memory.only_read.contains(&session) {
            return self.about(Kind::GetSession, environment, session);
        }
        let kind = match self.rng.random_range(0..16) {
            0..2 => Kind::Release,
            2..6 => Kind::GetSession,
            _ => Kind::Heartbeat,
        };
        self.about(kind, environment, session)
    }

    fn claim(&mut self) -> Request {
        let environment = self.environment();
        let full = self.memory.held.len() + self.memory.waiting.len() >= 3;
        match self.rng.random_range(0..20) {
            _ if full => self.plain(Kind::GetEnvironment, Some(environment)),
            0..2 => self.asking(Kind::Force, environment),
            2..9 => self.asking(Kind::Queue, environment),
            _ => self.asking(Kind::Claim, environment),
        }
    }

    /// Tries what only the session's own user may do.
    fn meddle(&mut self) -> Request {
        let environment = self.environment();
        if self.rng.random_ratio(1, 4)
            && let Some(deployment) = self.shared.board.deployment(environment)
        {
            return self.cancel(environment, deployment);
        }
        let kind = match self.rng.random_range(0..10) {
            0 => Kind::Renew,
            1 => Kind::Deploy,
            2 => Kind::Heartbeat,
            _ => Kind::Release,
        };
        match self.shared.board.of_another(environment, self.me.user) {
            Some(session) => self.about(kind, environment, session),
            None => self.plain(Kind::GetEnvironment, Some(environment)),
        }
    }

    /// Acts in a session that has ended.
    fn with_the_past(&mut self) -> Request {
        let kinds = [Kind::Release, Kind::Renew, Kind::Deploy, Kind::Heartbeat, Kind::GetSession];
        let kind = kinds[self.rng.random_range(0..kinds.len())];
        match self.memory.past.len() {
            0 => self.claim(),
            length => {
                let (environment, session) = self.memory.past[self.rng.random_range(0..length)];
                self.about(kind, environment, session)
            }
        }
    }

    /// A few environments are wanted by all.
    fn environment(&mut self) -> Environment {
        let own = self.places.len();
        let index = match self.rng.random_range(0..10) {
            0..5 => self.rng.random_range(0..own.min(2)),
            _ => self.rng.random_range(0..own),
        };
        self.places[index]
    }

    pub(super) fn plain(&self, kind: Kind, environment: Option<Environment>) -> Request {
        self.request(kind, Method::GET, environment, None, "", None)
    }

    /// A request about a session.
    pub(crate) fn about(&self, kind: Kind, environment: Environment, session: Uuid) -> Request {
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

    fn cancel(&self, environment: Environment, deployment: Uuid) -> Request {
        let mut request = self.request(Kind::Cancel, Method::POST, Some(environment), None, "", None);
        let slug = &self.shared.world.organizations[self.me.organization].slug;
        request.path = format!("/organizations/{slug}/deployments/dep_{deployment}/cancel");
        (request.deployment, request.body) = (Some(deployment), Some("{}".to_owned()));
        request
    }

    fn asking(&mut self, kind: Kind, environment: Environment) -> Request {
        let ttl = self.rng.random_range(1..=3);
        let with_commit = self.rng.random_ratio(1, 6);
        self.asking_for(kind, environment, ttl, with_commit)
    }

    pub(crate) fn asking_for(
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
        let world = &self.shared.world;
        let base = &world.organizations[organization].path;
        let name =
            environment.map_or_else(String::new, |index| format!("/{}", world.environments[index].name));
        let number = self.shared.progress.number();
        let (path, body) = (format!("{base}{name}{rest}"), body.map(|body| body(number)));
        Request { number, kind, organization, environment, session, deployment: None, method, path, body }
    }
}

/// The commit that only this request asks for.
fn commit(number: u64) -> String {
    format!("{number:010x}")
}
