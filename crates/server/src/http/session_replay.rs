//! What the repetition of a request about a session returns: the session as it is now. The first response may be hours old, and
//! would still show `active` for a session that has ended.

use greenroom_api_types::session::Displaced;
use greenroom_app::command::{Interruption, OpenCommand};
use greenroom_app::failure::Failure;
use greenroom_app::session::read;
use greenroom_domain::policy::Act;
use greenroom_store::idempotency::StoredResponse;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::http::environment::find;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::parse_id;
use crate::http::rules::permit::Permit;
use crate::http::rules::record_response::RecordResponse;
use crate::http::session_wire;

/// What is needed of the first response to read its record again.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FirstSession {
    session_id: String,
    env_name: String,
    /// No read returns it.
    displaced: Option<Displaced>,
}

#[derive(Deserialize)]
struct FirstDeployment {
    id: String,
}

#[derive(Deserialize)]
struct Stored<T> {
    data: T,
}

/// Puts the session of a pipeline as it is now into the response to a repeated request.
pub async fn session<A: Act>(
    permit: &Permit<A>,
    pipeline: &str,
    result: Result<RecordResponse, Interruption>,
) -> Result<RecordResponse, Interruption> {
    let Err(Interruption::Replayed(stored)) = result else { return result };
    let first: FirstSession = record(&stored)?;
    let environment = find(permit, pipeline, &first.env_name).await?;
    let id = parse_id(&first.session_id)?;
    let view = read::session(&permit.app.store, permit.organization(), environment, id).await?;
    let mut session = session_wire::session(permit.web_urls(), view);
    session.displaced = first.displaced;
    Ok(RecordResponse::replay(stored)?.with_record(&session)?)
}

/// Opens a command, or ends a repeated request with the session as it is now.
pub async fn open<A: Act>(
    permit: &Permit<A>,
    pipeline: &str,
    key: IdempotencyKey,
    body: &[u8],
) -> Result<OpenCommand, EarlyResponse> {
    match permit.open(key, body).await {
        Ok(command) => Ok(command),
        Err(ended) => Err(session(permit, pipeline, Err(ended)).await?.into()),
    }
}

/// Opens a command, or ends a repeated request with the deployment of the session as it is now.
pub async fn open_for_deployment<A: Act>(
    permit: &Permit<A>,
    key: IdempotencyKey,
    body: &[u8],
) -> Result<OpenCommand, EarlyResponse> {
    let stored = match permit.open(key, body).await {
        Ok(command) => return Ok(command),
        Err(Interruption::Replayed(stored)) => stored,
        Err(refused) => return Err(refused.into()),
    };
    let first: FirstDeployment = record(&stored)?;
    let found = permit.app.store.deployment_record(permit.organization(), parse_id(&first.id)?).await?;
    let deployment = session_wire::deployment(permit.web_urls(), found.ok_or_else(Failure::not_found)?);
    Err(RecordResponse::replay(stored)?.with_record(&deployment)?.into())
}

fn record<T: DeserializeOwned>(stored: &StoredResponse) -> Result<T, Failure> {
    let stored: Stored<T> = serde_json::from_str(&stored.body).map_err(Failure::internal)?;
    Ok(stored.data)
}
