//! `?dryRun=true`: what a change would do, without the change.

use greenroom_api_types::session_ending::EndedSession;
use greenroom_app::command::OpenCommand;
use greenroom_store::session_ending::LiveSession;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::command::HandlerResult;
use crate::http::rules::record_response::RecordResponse;

#[derive(Clone, Copy, Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct DryRun {
    /// If true, return what would change, such as the sessions that would end, and change nothing.
    #[param(default = false)]
    dry_run: Option<bool>,
}

impl DryRun {
    /// For an operation that has this parameter beside others.
    pub const fn new(dry_run: Option<bool>) -> Self {
        Self { dry_run }
    }

    pub fn is_dry_run(self) -> bool {
        self.dry_run.unwrap_or(false)
    }

    /// Commits. A dry run is rolled back instead, including the claim of its Idempotency-Key.
    pub async fn finish(self, command: OpenCommand, response: RecordResponse) -> HandlerResult {
        if self.is_dry_run() { Ok(response) } else { Ok(command.finish(response).await?) }
    }
}

pub fn ended_sessions(ended: Vec<LiveSession>) -> Vec<EndedSession> {
    let wire = |session: LiveSession| EndedSession {
        session_id: session.id.to_string(),
        pipeline_id: session.pipeline_id.to_string(),
        env_name: session.env_name,
        status: session.status.into(),
        user_id: session.user_id.to_string(),
        user_name: session.user_name,
    };
    ended.into_iter().map(wire).collect()
}
