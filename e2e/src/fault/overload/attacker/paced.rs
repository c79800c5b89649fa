//! Attacks by requests at a fixed rate, whether the server responds or not.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::fault::overload::attack::Attack;
use crate::fault::overload::attacker::SOURCE;
use crate::fault::overload::attacker::live::Live;
use crate::fault::overload::attacker::payload::Payloads;

const TIMEOUT: Duration = Duration::from_secs(10);
/// While this many requests have no response, no more are sent.
const MAX_UNANSWERED: usize = 500;

pub(super) fn spawn(
    tasks: &mut JoinSet<()>,
    attack: Attack,
    per_second: usize,
    (payloads, live): (&Arc<Payloads>, &Arc<Live>),
) -> anyhow::Result<()> {
    let http = reqwest::Client::builder().no_proxy().local_address(IpAddr::from(SOURCE)).timeout(TIMEOUT);
    let http = http.build()?;
    let (payloads, live) = (Arc::clone(payloads), Arc::clone(live));
    let mut ticks = tokio::time::interval(Duration::from_secs_f64(1.0 / per_second as f64));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    tasks.spawn(async move {
        let mut unanswered = JoinSet::new();
        for turn in 0.. {
            ticks.tick().await;
            while unanswered.try_join_next().is_some() {}
            if unanswered.len() < MAX_UNANSWERED {
                unanswered.spawn(send(payloads.paced(&http, attack, turn), Arc::clone(&live)));
            }
        }
    });
    Ok(())
}

async fn send(request: reqwest::RequestBuilder, live: Arc<Live>) {
    live.attempts.add_one();
    let _open = live.open.enter();
    match request.send().await {
        Ok(response) => {
            live.count_response(response.status().as_u16());
            // Read, so that the connection can be reused.
            let _ = response.bytes().await;
        }
        Err(error) if error.is_timeout() || error.is_connect() => live.failed.add_one(),
        Err(_) => live.closed.add_one(),
    }
}
