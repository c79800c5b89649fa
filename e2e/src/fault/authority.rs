//! Whoever gives and takes rights: demotes members and removes them, whatever they hold or wait for, and lets them in again.

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
use crate::fault::history::Barred;
use crate::fault::world::Person;
use crate::parts::programs::admin_json;

/// How long to go on asking for one change. Longer than any fault lasts.
const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) struct Authority {
    pub(crate) organization: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) rng: StdRng,
    /// The operator's program, and the database that it is used on.
    pub(crate) operator: (PathBuf, String),
}

impl Authority {
    /// Goes on until all are told to stop. When who could not hold.
    pub(crate) async fn run(mut self) -> anyhow::Result<Vec<Barred>> {
        let mut times = Vec::new();
        let of_mine =
            |person: &&Person| person.organization == self.organization && person.is_barred_at_times;
        let subjects: Vec<Person> = self.shared.world.people.iter().filter(of_mine).cloned().collect();
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
        let (asked, since) = self.change(Method::PATCH, &path, Some(&viewer), &[200]).await?;
        self.pause(300, 2_500).await;
        let (until, over) = self.change(Method::PATCH, &path, Some(&back), &[200]).await?;
        Ok(self.barred(subject, (asked, since), (until, over)))
    }

    async fn remove(&mut self, subject: &Person) -> anyhow::Result<Barred> {
        // Who is not there any more was removed by a request whose answer was lost.
        let path = format!("/members/usr_{}", subject.user);
        let (asked, since) = self.change(Method::DELETE, &path, None, &[200, 404]).await?;
        self.pause(300, 2_500).await;
        let back = json!({ "email": subject.email, "name": subject.email, "role": subject.role });
        let (until, _) = self.change(Method::POST, "/members", Some(&back), &[201, 409]).await?;
        subject.set_token(self.new_token(subject).await?);
        let over = self.shared.clock.now();
        Ok(self.barred(subject, (asked, since), (until, over)))
    }

    fn barred(&self, subject: &Person, from: (Micros, Micros), to: (Micros, Micros)) -> Barred {
        let by = self.shared.world.organizations[self.organization].owner;
        Barred { user: subject.user, by, asked: from.0, since: from.1, until: to.0, over: to.1 }
    }

    /// Until it is known to be done: when it was first asked for, and when it was known.
    async fn change(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        good: &[u16],
    ) -> anyhow::Result<(Micros, Micros)> {
        let shared = Arc::clone(&self.shared);
        let organization = &shared.world.organizations[self.organization];
        let path = format!("/organizations/{}{path}", organization.slug);
        let (invoked, started) = (shared.clock.now(), Instant::now());
        // A request that timed out may still be carried out later. With the same key it has no second effect then.
        let key = format!("rights-{}-{}", self.organization, self.rng.random::<u64>());
        loop {
            let server = self.rng.random_range(0..shared.http.servers());
            let call = (method.clone(), path.as_str());
            let answer = shared.http.call(server, &organization.owner_token, call, body, Some(&key)).await;
            match answer {
                Some((status, _)) if good.contains(&status) => return Ok((invoked, shared.clock.now())),
                Some((status, answer)) if status < 500 && !is_transient(&answer) => {
                    bail!("{method} {path} was answered {status} {answer}")
                }
                _ if started.elapsed() > PATIENCE => {
                    bail!("{method} {path} was not done within {PATIENCE:?}")
                }
                _ => self.pause(100, 600).await,
            }
        }
    }

    async fn new_token(&mut self, subject: &Person) -> anyhow::Result<String> {
        let shared = Arc::clone(&self.shared);
        let words = subject.token_words(&shared.world.organizations[self.organization].slug);
        let started = Instant::now();
        loop {
            match admin_json(&self.operator.0, &self.operator.1, &words).await {
                Ok(made) => return made["token"].as_str().map(str::to_owned).context("a token is missing"),
                Err(error) if started.elapsed() > PATIENCE => return Err(error),
                // PostgreSQL may be down for a moment.
                Err(_) => self.pause(100, 600).await,
            }
        }
    }

    async fn pause(&mut self, least: u64, most: u64) {
        tokio::time::sleep(Duration::from_millis(self.rng.random_range(least..most))).await;
    }
}

fn is_transient(answer: &Value) -> bool {
    ["busy", "idempotency_in_progress"].iter().any(|code| answer["code"] == *code)
}
