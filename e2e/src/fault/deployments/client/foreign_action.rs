//! Cancels and retries deployments in other users' sessions, which only their holders may do.

use std::sync::PoisonError;

use rand::RngExt;
use serde_json::json;
use uuid::Uuid;

use super::{ApiRequest, Client, Outcome};
use crate::fault::deployments::fixture::DeploymentFixture;
use crate::fault::deployments::history::ForeignAction;

/// How many of the newest deployments are remembered.
const MAX_REMEMBERED: usize = 12;
/// Every pipeline with environments has this stage.
const STAGE: &str = "deploy";

impl Client {
    /// Publishes a deployment in a session of this client to the other clients.
    pub(super) fn publish(&self, deployment: Uuid) {
        let mut board = self.shared.board.lock().unwrap_or_else(PoisonError::into_inner);
        board.push_back((deployment, self.me.user));
        if board.len() > MAX_REMEMBERED {
            board.pop_front();
        }
    }

    pub(super) async fn act_on_foreign_deployment(&mut self) {
        // Choose the newest deployment of another user: an older one has probably ended and cannot be
        // canceled any more.
        let newest = {
            let board = self.shared.board.lock().unwrap_or_else(PoisonError::into_inner);
            board.iter().rev().find(|(_, user)| *user != self.me.user).map(|(deployment, _)| *deployment)
        };
        let Some(deployment) = newest else { return };
        let action = ["cancel", "cancel", "retry"][self.rng.random_range(0..3)];
        let path = match action {
            "cancel" => format!("/deployments/dep_{deployment}/cancel"),
            _ => format!("/deployments/dep_{deployment}/stages/{STAGE}/retry"),
        };
        let api_request = ApiRequest::post(DeploymentFixture::path(&path), Some(json!({})));
        if let Outcome::Done(_) = self.change(api_request).await {
            self.history.foreign_actions.push(ForeignAction { user: self.me.user, deployment, action });
        }
    }
}
