//! The victim: another organization that continues its work. It holds environments and renews them, claims,
//! deploys and releases, runs long jobs, and reads. Its runner is a real one.

pub(crate) mod caller;
mod deployer;
mod holder;
mod reader;
pub(crate) mod recorder;
pub(crate) mod relay;

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::fault::overload::member;
use crate::fault::overload::sample::Member;
use crate::fault::overload::stack::Stack;
use crate::fault::overload::victim::caller::Caller;
use crate::fault::overload::victim::recorder::Recorder;
use crate::parts::api::Api;
use crate::parts::runner::Runner;

const SLUG: &str = "victim";
const HELD: [&str; 3] = ["hold-1", "hold-2", "hold-3"];
const DEPLOYED: [&str; 2] = ["qa-1", "qa-2"];
const READERS: usize = 4;
/// Leases are short, so that a lock whose renewals fail is lost while the campaign watches.
const DEFINITION: &str = r#"
ephemeralEnvironments:
  hold-1: { lease: { default: 10s, max: 4h } }
  hold-2: { lease: { default: 10s, max: 4h } }
  hold-3: { lease: { default: 10s, max: 4h } }
  qa-1: { lease: { default: 120s, max: 4h } }
  qa-2: { lease: { default: 120s, max: 4h } }
stages:
  deploy: { steps: [{ image: none, run: "echo begin; sleep 1; echo end" }] }
"#;
/// A job that needs heartbeats for a while, with a log that grows.
const LONG_DEFINITION: &str = r#"
stages:
  deploy:
    steps:
      - image: none
        run: |
          for number in 1 2 3 4 5 6 7 8 9 10; do
            echo "line $number"
            sleep 1
          done
"#;

pub(crate) struct Victim {
    caller: Caller,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Victim {
    /// Creates the organization with its pipelines. Also returns the record of its runner, and its hostile member.
    pub(crate) async fn make(
        stack: &Stack,
        recorder: Arc<Recorder>,
    ) -> anyhow::Result<(Self, Value, Member)> {
        let (api, owner) = (Api::new(stack.base_url())?, stack.make_organization(SLUG).await?);
        for (slug, definition) in [("shop", DEFINITION), ("long", LONG_DEFINITION)] {
            let body = json!({ "name": slug, "slug": slug, "definition": definition });
            api.call_ok(Method::POST, &path("/pipelines"), &owner, Some(&body)).await?;
        }
        let body = Runner::creation_body("victim", None);
        let runner = api.call_ok(Method::POST, &path("/runners"), &owner, Some(&body)).await?;
        let member = member::make(stack, &api, &owner, SLUG).await?;
        let caller = Caller::new(stack.base_url(), owner, recorder)?;
        let victim = Self { caller, stop: watch::Sender::new(false), tasks: JoinSet::new() };
        Ok((victim, runner, member))
    }

    pub(crate) fn start(&mut self) {
        self.stop.send_replace(false);
        let stop = || Stop(self.stop.subscribe());
        for name in HELD {
            self.tasks.spawn(holder::run(self.caller.clone(), name, stop()));
        }
        for name in DEPLOYED {
            self.tasks.spawn(deployer::run_in_sessions(self.caller.clone(), name, stop()));
        }
        self.tasks.spawn(deployer::run_long(self.caller.clone(), stop()));
        for number in 0..READERS {
            self.tasks.spawn(reader::run(self.caller.clone(), number, stop()));
        }
    }

    /// Aborts it without releasing anything.
    pub(crate) async fn abort(&mut self) {
        self.tasks.shutdown().await;
    }

    /// Lets everything that was started come to its end.
    pub(crate) async fn end(&mut self) -> anyhow::Result<()> {
        self.stop.send_replace(true);
        while let Some(ended) = self.tasks.join_next().await {
            ended?;
        }
        Ok(())
    }
}

/// Signals the victim's tasks to finish.
#[derive(Clone)]
struct Stop(watch::Receiver<bool>);

impl Stop {
    fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for a while, or until the stop is requested.
    async fn pause(&mut self, time: Duration) {
        let _ = tokio::time::timeout(time, self.0.wait_for(|stop| *stop)).await;
    }
}

/// Returns the path below the organization.
fn path(rest: &str) -> String {
    format!("/organizations/{SLUG}{rest}")
}

fn environment(name: &str, rest: &str) -> String {
    path(&format!("/pipelines/shop/ephemeral-environments/{name}{rest}"))
}
