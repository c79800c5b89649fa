//! A reader: requests one page after the other. The response times are compared between quiet windows and
//! attacks.

use std::time::Duration;

use crate::fault::overload::victim::caller::Caller;
use crate::fault::overload::victim::{Stop, environment, path};

const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn run(caller: Caller, number: usize, mut stop: Stop) {
    let paths = [
        "/me".to_owned(),
        path("/pipelines"),
        path("/pipelines/shop"),
        path("/pipelines/shop/ephemeral-environments"),
        environment("hold-1", ""),
        path("/deployments"),
    ];
    for turn in number.. {
        if stop.is_requested() {
            return;
        }
        if let Some(path) = paths.get(turn % paths.len()) {
            caller.get(path).await;
        }
        stop.pause(PAUSE).await;
    }
}
