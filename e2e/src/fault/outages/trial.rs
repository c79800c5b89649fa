//! One environment during one outage: who holds it, who waits, and what each of them has left. Prepared by the API; only how
//! long ago something was is written into the database.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fault::fixture::{Person, parse_id};
use crate::fault::outages::expected::{Action, Expected, Left, Party, Request, Right};
use crate::fault::outages::fixture::{OutageFixture, PERSON_STAY, PROGRAM_STAY};
use crate::fault::outages::moved_time::Given;

/// Longer than every outage and everything that is done after it.
const LONG_LEASE: u32 = 20_000;
const LEASE: u32 = 3_600;
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its holder renews the lease right before the outage, for longer than the outage lasts.
    RenewedHold,
    /// Its holder's lease ends during the outage.
    LapsedHold,
    /// Programs and a person wait.
    Queue,
    /// It was granted to the first of the queue, who has not confirmed it.
    Turn,
    /// A person who could take it by force has requested it.
    AcceptedBySilence,
    /// A program has, whose request only lapses.
    LapsesBySilence,
}

/// What the environments of one outage are used for.
pub(super) const KINDS: [Kind; 10] = [
    Kind::RenewedHold,
    Kind::LapsedHold,
    Kind::Queue,
    Kind::Turn,
    Kind::AcceptedBySilence,
    Kind::LapsesBySilence,
    Kind::RenewedHold,
    Kind::Queue,
    Kind::Queue,
    Kind::Turn,
];

pub(super) struct Trial {
    pub(super) kind: Kind,
    pub(super) environment: String,
    /// `None` as soon as it can't be known what has to happen.
    pub(super) expected: Option<Expected>,
    /// All of its sessions.
    pub(super) sessions: Vec<Uuid>,
    pub(super) given: Vec<Given>,
    pub(super) action: Action,
    pub(super) rng: StdRng,
}

impl Trial {
    /// Prepares it for an outage of `away` seconds.
    pub(super) async fn prepare(
        fixture: &OutageFixture,
        kind: Kind,
        environment: String,
        away: f64,
        seed: u64,
    ) -> anyhow::Result<Self> {
        let (expected, action, rng) = (None, Action::Nothing, StdRng::seed_from_u64(seed));
        let mut trial =
            Self { kind, environment, expected, sessions: Vec::new(), given: Vec::new(), action, rng };
        let mut expected = trial.sessions_of_kind(fixture, away).await?;
        trial.action = trial.choose_action(&expected);
        // Given at the same moment, right before the outage.
        for waiter in &mut expected.queue {
            let seconds = trial.place_seconds(waiter.stay);
            waiter.left = Left::exactly(seconds);
            trial.given.push(Given::Place { session: waiter.session, seconds });
        }
        trial.expected = Some(expected);
        Ok(trial)
    }

    async fn sessions_of_kind(&mut self, fixture: &OutageFixture, away: f64) -> anyhow::Result<Expected> {
        let mut expected = Expected::default();
        let ttl = match self.kind {
            // In a short outage, what the machine needs for it would decide whether the lease lapses.
            Kind::LapsedHold if away > 25.0 => self.rng.random_range(12..whole(away) - 4),
            Kind::LapsedHold | Kind::RenewedHold => whole(away) + self.rng.random_range(12..900),
            _ => LONG_LEASE,
        };
        let holder = self.join(fixture, &fixture.holder, ttl, false).await?;
        let left = Left::exactly(f64::from(ttl));
        expected.holder =
            Some(Party { right: Right::Lease, left, stay: PERSON_STAY, lease: f64::from(ttl), ..holder });
        let mut waiters = vec![&fixture.program, &fixture.program, &fixture.person];
        waiters.shuffle(&mut self.rng);
        match self.kind {
            Kind::RenewedHold => {
                self.post(fixture, &fixture.holder, &format!("{}/renew", id(holder.session)), None).await?;
                waiters.truncate(1);
            }
            Kind::LapsedHold => waiters.truncate(self.rng.random_range(0..3)),
            Kind::Queue => {}
            Kind::Turn => waiters.truncate(2),
            Kind::AcceptedBySilence => waiters = vec![&fixture.person],
            Kind::LapsesBySilence => waiters = vec![&fixture.program],
        }
        if let Kind::AcceptedBySilence | Kind::LapsesBySilence = self.kind {
            let body = json!({ "graceSeconds": 600 });
            let path = format!("{}/request-handover", id(holder.session));
            let by = self.post(fixture, waiters[0], &path, Some(&body)).await?;
            expected.queue.push(place(by, waiters[0]));
            let accepts = self.kind == Kind::AcceptedBySilence;
            // Before the place of the one who requests is over.
            let seconds = self.rng.random_range(6.0..if accepts { 590.0 } else { 85.0 });
            expected.request = Some(Request { by, left: Left::exactly(seconds), accepts });
            self.given.push(Given::Request { environment: self.environment.clone(), seconds });
            return Ok(expected);
        }
        for waiter in waiters {
            expected.queue.push(self.join(fixture, waiter, LEASE, true).await?);
        }
        if self.kind == Kind::Turn {
            self.call(fixture, (&fixture.holder, Method::DELETE), &id(holder.session), None).await?;
            let seconds = self.rng.random_range(6.0..58.0);
            let first = expected.queue.remove(0);
            expected.ended.push(holder.session);
            expected.holder = Some(Party { right: Right::Turn, left: Left::exactly(seconds), ..first });
            self.given.push(Given::Turn { environment: self.environment.clone(), seconds });
        }
        Ok(expected)
    }

    /// Claims, or joins the queue.
    async fn join(
        &mut self,
        fixture: &OutageFixture,
        who: &Person,
        ttl: u32,
        queue: bool,
    ) -> anyhow::Result<Party> {
        let body = json!({ "ttlSeconds": ttl, "queue": queue });
        let joined = self.post(fixture, who, "", Some(&body)).await?;
        Ok(Party { lease: f64::from(ttl), ..place(joined, who) })
    }

    async fn post(
        &mut self,
        fixture: &OutageFixture,
        who: &Person,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Uuid> {
        let (status, response) = self.call(fixture, (who, Method::POST), path, body).await?;
        let session = session_of(&response).filter(|_| status < 300);
        let session = session.with_context(|| format!("{}{path}: {status} {response}", self.environment))?;
        if !self.sessions.contains(&session) {
            self.sessions.push(session);
        }
        Ok(session)
    }

    /// Repeats a request below the environment's sessions until its outcome is known.
    pub(super) async fn call(
        &mut self,
        fixture: &OutageFixture,
        (who, method): (&Person, Method),
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<(u16, Value)> {
        let slash = if path.is_empty() { "" } else { "/" };
        let path = format!("{}/{}/sessions{slash}{path}", fixture.path, self.environment);
        let key = format!("outage-{:016x}", self.rng.random::<u64>());
        let (token, started) = (who.token(), Instant::now());
        while started.elapsed() < CALL_TIMEOUT {
            let server = self.rng.random_range(0..fixture.http.servers());
            let call = (method.clone(), path.as_str());
            match fixture.http.call(server, &token, call, body, Some(&key)).await {
                Some((_, response)) if is_transient(&response) => {}
                Some(response) => return Ok(response),
                None => {}
            }
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        bail!("{method} {path} had no known outcome for {CALL_TIMEOUT:?}")
    }

    /// Chooses how much of its stay a place has left. One in eight was over well before the outage.
    fn place_seconds(&mut self, stay: f64) -> f64 {
        let requests = matches!(self.kind, Kind::AcceptedBySilence | Kind::LapsesBySilence);
        match (requests, self.rng.random_ratio(1, 8)) {
            (true, _) => self.rng.random_range(0.8 * stay..stay - 1.0),
            (false, true) => -self.rng.random_range(8.0..100.0),
            (false, false) => self.rng.random_range(6.0..stay - 2.0),
        }
    }

    fn choose_action(&mut self, expected: &Expected) -> Action {
        let sessions: Vec<Uuid> = expected.alive().map(|party| party.session).collect();
        let session = sessions[self.rng.random_range(0..sessions.len())];
        match self.rng.random_range(0..9) {
            0..3 => Action::Nothing,
            3..5 => Action::Heartbeat(session),
            // Whether a waiter whose turn comes meanwhile may renew depends on who is first, client or sweeper.
            5 => expected.holder.map_or(Action::Nothing, |holder| Action::Renew(holder.session)),
            6 => Action::Release(session),
            _ => Action::Claim,
        }
    }

    /// Carries out the action. Returns what the response shows of the session.
    pub(super) async fn act(&mut self, fixture: &OutageFixture) -> anyhow::Result<Option<Acted>> {
        let (method, path, body) = match self.action {
            Action::Nothing => return Ok(None),
            Action::Heartbeat(session) => (Method::POST, format!("{}/heartbeat", id(session)), None),
            Action::Renew(session) => (Method::POST, format!("{}/renew", id(session)), None),
            Action::Release(session) => (Method::DELETE, id(session), None),
            Action::Claim => (Method::POST, String::new(), Some(json!({ "ttlSeconds": LEASE }))),
        };
        let who = match self.action {
            Action::Claim => &fixture.rival,
            Action::Heartbeat(session) | Action::Renew(session) | Action::Release(session) => {
                self.owner(fixture, session)
            }
            Action::Nothing => &fixture.holder,
        };
        let (status, response) = self.call(fixture, (who, method), &path, body.as_ref()).await?;
        let shown = response["data"]["status"].as_str().filter(|_| status < 300);
        let is_alive = shown.is_some_and(|status| ["active", "queued"].contains(&status));
        let claimed = session_of(&response).filter(|_| is_alive && self.action == Action::Claim);
        self.sessions.extend(claimed);
        Ok(Some(Acted { status, is_alive, claimed }))
    }

    fn owner<'a>(&self, fixture: &'a OutageFixture, session: Uuid) -> &'a Person {
        let party = self
            .expected
            .as_ref()
            .and_then(|expected| expected.alive().find(|party| party.session == session).copied());
        match party {
            Some(party) if party.right == Right::Lease => &fixture.holder,
            Some(party) if (party.stay - PERSON_STAY).abs() < 1.0 => &fixture.person,
            _ => &fixture.program,
        }
    }
}

pub(super) struct Acted {
    pub(super) status: u16,
    /// Whether the response shows the acting session, or the new one, as waiting or active.
    pub(super) is_alive: bool,
    pub(super) claimed: Option<Uuid>,
}

/// The party that a rival becomes by a claim.
pub(super) fn claimed_party(session: Uuid, real: f64) -> Party {
    let lease = f64::from(LEASE);
    let left = Left { least: lease - real, most: lease };
    Party { session, right: Right::Lease, left, stay: PERSON_STAY, lease }
}

fn place(session: Uuid, who: &Person) -> Party {
    let stay = if who.may_force() { PERSON_STAY } else { PROGRAM_STAY };
    Party { session, right: Right::Place, left: Left::exactly(stay), stay, lease: f64::from(LEASE) }
}

fn session_of(response: &Value) -> Option<Uuid> {
    parse_id(response["data"]["sessionId"].as_str()?)
}

fn is_transient(response: &Value) -> bool {
    ["busy", "overloaded", "idempotency_in_progress"].iter().any(|code| response["code"] == *code)
}

fn id(session: Uuid) -> String {
    format!("ses_{session}")
}

/// For some minutes at most.
fn whole(seconds: f64) -> u32 {
    seconds.ceil() as u32
}
