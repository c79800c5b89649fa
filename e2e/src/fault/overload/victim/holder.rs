//! A holder: claims an environment with a short lease and renews it as long as the campaign lasts.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::fault::overload::victim::caller::{Caller, Reply};
use crate::fault::overload::victim::recorder::Operation;
use crate::fault::overload::victim::{Stop, environment};

const RENEW_INTERVAL: Duration = Duration::from_secs(1);

pub(super) async fn run(caller: Caller, name: &'static str, mut stop: Stop) {
    while !stop.is_requested() {
        let claim = json!({ "context": "held while another tenant attacks" });
        let claimed = caller.post(Operation::Claim, &environment(name, "/sessions"), &claim).await;
        let Some(session) = claimed.text("sessionId").filter(|_| claimed.is_good()) else {
            stop.pause(RENEW_INTERVAL).await;
            continue;
        };
        let fence = claimed.body["fence"].clone();
        let at = |rest: &str| environment(name, &format!("/sessions/{session}{rest}"));
        loop {
            stop.pause(RENEW_INTERVAL).await;
            if stop.is_requested() {
                caller.send(Operation::Release, Method::DELETE, &at(""), |request| request).await;
                return;
            }
            let renewed = caller.post(Operation::Renew, &at("/renew"), &json!({})).await;
            if is_lost(&renewed, &fence) {
                caller.recorder.lock_lost();
                break;
            }
            caller.post(Operation::SessionHeartbeat, &at("/heartbeat"), &json!({})).await;
        }
    }
}

/// A response without information about the session, such as 503, does not mean that it is lost.
fn is_lost(renewed: &Reply, fence: &Value) -> bool {
    match renewed.status {
        Some(404 | 409 | 410) => true,
        Some(200..300) => renewed.body["fence"] != *fence || renewed.body["status"] != "active",
        _ => false,
    }
}
