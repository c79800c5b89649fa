//! Changes members' rights during a campaign: demotes and removes members, whatever they hold or wait for,
//! and restores them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rand::RngExt;
use rand::rngs::StdRng;
use reqwest::Method;
use serde_json::{Value, json};

use crate::fault::client::Shared;
use crate::fault::clock::Micros;
use crate::fault::fixture::Person;
use crate::fault::history::Barred;
use crate::parts::programs::admin_json;

/// How long one change is retried. Longer than any fault lasts.
const RETRY_TIMEOUT: Duration = Duration::from_secs(90);

pub(crate) struct RightsChanger {
    pub(crate) organization: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) rng: StdRng,
    /// The path of the operator's program, and the database URL it is used with.
    pub(crate) operator: (PathBuf, String),
}

impl RightsChanger {
    /// Runs until the stop flag is set. Returns the periods in which members could not hold anything.
    pub(crate) async fn run(mut self) -> anyhow::Result<Vec<Barred>> {
        let mut times = Vec::new();
        let of_mine =
            |person: &&Person| person.organization == self.organization && person.loses_rights_at_times;
        let subjects: Vec<Person> = self.shared.fixture.people.iter().filter(of_mine).cloned().collect();
        while !self.shared.stop.load(Ordering::Relaxed) && !subjects.is_empty() {
            self.pause(300, 1_500).await;
            let subject = &subjects[self.rng.random_range(0..subjects.len())];
            times.push(if self.rng.random_ratio(1, 3) {
                self.remove(subject).await?
            } else {
                self.demote(subject).await?
            });
        }
        Ok(times)
    }

    async fn demote(&mut self, subject: &Person) -> anyhow::Result<Barred> {
        let (viewer, back) = (json!({ "role": "viewer" }), json!({ "role": subject.role }));
        let path = format!("/members/usr_{}", subject.user);
        let (requested, since) = self.change(Method::PATCH, &path, Some(&viewer), &[200]).await?;
        self.pause(300, 2_500).await;
        let (until, restored) = self.change(Method::PATCH, &path, Some(&back), &[200]).await?;
        Ok(self.barred(subject, (requested, since), (until, restored)))
    }

    async fn remove(&mut self, subject: &Person) -> anyhow::Result<Barred> {
        // The member may be gone already: a removal can succeed although its response was lost.
        let path = format!("/members/usr_{}", subject.user);
        let (requested, since) = self.change(Method::DELETE, &path, None, &[200, 404]).await?;
        self.pause(300, 2_500).await;
        let back = json!({ "email": subject.email, "name": subject.email, "role": subject.role });
        let (until, _) = self.change(Method::POST, "/members", Some(&back), &[201, 409]).await?;
        subject.set_token(self.new_token(subject).await?);
        let restored = self.shared.clock.now();
        Ok(self.barred(subject, (requested, since), (until, restored)))
    }

    fn barred(&self, subject: &Person, from: (Micros, Micros), to: (Micros, Micros)) -> Barred {
        let by = self.shared.fixture.organizations[self.organization].owner;
        Barred { user: subject.user, by, requested: from.0, since: from.1, until: to.0, restored: to.1 }
    }

    /// Retries until the change is known to be done. Returns when it was first requested and when it was
    /// confirmed.
    async fn change(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        good: &[u16],
    ) -> anyhow::Result<(Micros, Micros)> {
        let shared = Arc::clone(&self.shared);
        let organization = &shared.fixture.organizations[self.organization];
        let path = format!("/organizations/{}{path}", organization.slug);
        let (invoked, started) = (shared.clock.now(), Instant::now());
        // A request that timed out may still be carried out later. With the same key it then has no second
        // effect.
        let key = format!("rights-{}-{}", self.organization, self.rng.random::<u64>());
        loop {
            let server = self.rng.random_range(0..shared.http.servers());
            let call = (method.clone(), path.as_str());
            let response = shared.http.call(server, &organization.owner_token, call, body, Some(&key)).await;
            match response {
                Some((status, _)) if good.contains(&status) => return Ok((invoked, shared.clock.now())),
                Some((status, response)) if status < 500 && !is_transient(&response) => {
                    bail!("{method} {path} returned {status} {response}")
                }
                _ if started.elapsed() > RETRY_TIMEOUT => {
                    bail!("{method} {path} was not done within {RETRY_TIMEOUT:?}")
                }
                _ => self.pause(100, 600).await,
            }
        }
    }

    async fn new_token(&mut self, subject: &Person) -> anyhow::Result<String> {
        let shared = Arc::clone(&self.shared);
        let arguments = subject.token_arguments(&shared.fixture.organizations[self.organization].slug);
        let started = Instant::now();
        loop {
            match admin_json(&self.operator.0, &self.operator.1, &arguments).await {
                Ok(made) => return made["token"].as_str().map(str::to_owned).context("a token is missing"),
                Err(error) if started.elapsed() > RETRY_TIMEOUT => return Err(error),
                // PostgreSQL may be down for a moment.
                Err(_) => self.pause(100, 600).await,
            }
        }
    }

    async fn pause(&mut self, min: u64, max: u64) {
        tokio::time::sleep(Duration::from_millis(self.rng.random_range(min..max))).await;
    }
}

fn is_transient(response: &Value) -> bool {
    ["busy", "idempotency_in_progress"].iter().any(|code| response["code"] == *code)
}
