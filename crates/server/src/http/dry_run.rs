//! `?dryRun=true`: what a change would end, without the change.

use axum::response::IntoResponse;
use greenroom_api_types::session_ending::EndedSession;
use greenroom_store::session_ending::LiveSession;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::answer::Answer;
use crate::http::mutation::{Answered, Mutation};

#[derive(Clone, Copy, Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct DryRun {
    /// Answer with the sessions that would end, and change nothing.
    #[param(default = false)]
    dry_run: Option<bool>,
}

impl DryRun {
    pub fn dry_run(self) -> bool {
        self.dry_run.unwrap_or(false)
    }

    /// Commits, unless it is a dry run: then the transaction is rolled back, with the claim of its Idempotency-Key.
    pub async fn finish(self, mutation: Mutation, answer: Answer) -> Answered {
        if self.dry_run() { Ok(answer.into_response()) } else { mutation.finish(answer).await }
    }
}

pub fn ended_sessions(ended: Vec<LiveSession>) -> Vec<EndedSession> {
    let wire = |session: LiveSession| EndedSession {
        session_id: session.id.to_string(),
        pipeline_id: session.pipeline_id.to_string(),
        env_name: session.env_name,
        status: session.status.to_string(),
        user_id: session.user_id.to_string(),
        user_name: session.user_name,
    };
    ended.into_iter().map(wire).collect()
}
