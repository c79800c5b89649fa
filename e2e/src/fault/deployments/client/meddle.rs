//! Canceling and trying again what others have deployed in their sessions, which nobody may but they themselves.

use std::sync::PoisonError;

use rand::RngExt;
use serde_json::json;
use uuid::Uuid;

use super::{Answer, Asking, Client};
use crate::fault::deployments::history::Meddling;
use crate::fault::deployments::world::World;

/// How many of the newest are known.
const KNOWN: usize = 12;
/// Every pipeline with environments has it.
const STAGE: &str = "deploy";

impl Client {
    /// Lets the others know of a deployment in a session of its own.
    pub(super) fn post(&self, deployment: Uuid) {
        let mut board = self.shared.board.lock().unwrap_or_else(PoisonError::into_inner);
        board.push_back((deployment, self.me.user));
        if board.len() > KNOWN {
            board.pop_front();
        }
    }

    pub(super) async fn meddle(&mut self) {
        // Choose the newest deployment of another user: an older one has probably ended and cannot be canceled any more.
        let newest = {
            let board = self.shared.board.lock().unwrap_or_else(PoisonError::into_inner);
            board.iter().rev().find(|(_, user)| *user != self.me.user).map(|(deployment, _)| *deployment)
        };
        let Some(deployment) = newest else { return };
        let what = ["cancel", "cancel", "retry"][self.rng.random_range(0..3)];
        let path = match what {
            "cancel" => format!("/deployments/dep_{deployment}/cancel"),
            _ => format!("/deployments/dep_{deployment}/stages/{STAGE}/retry"),
        };
        let asking = Asking::post(World::path(&path), Some(json!({})));
        if let Answer::Done(_) = self.change(asking).await {
            self.history.meddlings.push(Meddling { user: self.me.user, deployment, what });
        }
    }
}
