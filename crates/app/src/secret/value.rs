//! The versions of a secret: setting a value, activating a version, destroying one.

use greenroom_api_types::secret::SetSecretValue;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::SecretId;
use greenroom_domain::secret::{
    Secret, ValuePlace, VersionRefusal, VersionStatus, activated, destroyed, subject,
};
use greenroom_store::Command;
use greenroom_store::secret::{NewVersion, SecretRecord, SecretVersion};
use serde_json::json;

use crate::failure::{Code, Failure};
use crate::precondition::IfMatch;
use crate::secret::editable;
use crate::secret::sealing::OrganizationKeys;
use crate::secret::view::version_view;

/// Sets a value: a new version, which steps that start after the commit get, unless it is staged.
#[boxed_futures]
pub async fn set(
    command: &mut Command,
    keys: &OrganizationKeys,
    id: SecretId,
    condition: &IfMatch,
    request: SetSecretValue,
) -> Result<SecretVersion, Failure> {
    let secret = editable(command, id, condition).await?;
    let value = Secret::new(request.value.into_bytes()).map_err(|error| Failure::field("/value", error))?;
    let place = ValuePlace { secret: id, scope: &secret.scope, version: secret.newest_version + 1 };
    let sealed = keys.seal(place, &value)?;
    let new = NewVersion { value: &sealed, bytes: value.len(), is_staged: request.staged };
    let version = command.add_secret_version(&secret, &new).await?;
    record_event(command, EventType::SecretValueSet, &secret, &version).await?;
    Ok(version)
}

/// Makes a version the one that steps get. If it is already, nothing changes.
#[boxed_futures]
pub async fn activate(command: &mut Command, id: SecretId, version: i32) -> Result<SecretVersion, Failure> {
    let (secret, before) = version_of(command, id, version).await?;
    activated(before.status).map_err(refused)?;
    if before.status == VersionStatus::Active {
        return Ok(before);
    }
    let after = command.activate_secret_version(id, version).await?;
    record_event(command, EventType::SecretActivated, &secret, &after).await?;
    Ok(after)
}

/// Destroys the value of a version that is not active. If it was destroyed already, nothing changes.
#[boxed_futures]
pub async fn destroy(command: &mut Command, id: SecretId, version: i32) -> Result<SecretVersion, Failure> {
    let (secret, before) = version_of(command, id, version).await?;
    destroyed(before.status).map_err(refused)?;
    if before.status == VersionStatus::Destroyed {
        return Ok(before);
    }
    let after = command.destroy_secret_version(id, version).await?;
    record_event(command, EventType::SecretDestroyed, &secret, &after).await?;
    Ok(after)
}

async fn version_of(
    command: &mut Command,
    id: SecretId,
    version: i32,
) -> Result<(SecretRecord, SecretVersion), Failure> {
    let secret = editable(command, id, &IfMatch::Any).await?;
    let found = command.secret_version(id, version).await?.ok_or_else(Failure::not_found)?;
    Ok((secret, found))
}

fn refused(refusal: VersionRefusal) -> Failure {
    Failure::new(Code::InvalidState, format!("This version can't be changed: {refusal}."))
}

/// Records an event about one version. It has the version's record, and no value.
async fn record_event(
    command: &mut Command,
    event_type: EventType,
    secret: &SecretRecord,
    version: &SecretVersion,
) -> Result<(), Failure> {
    let after = json!({
        "secretId": secret.id,
        "name": secret.name,
        "version": version_view(version.clone()),
    });
    command
        .record_event(NewEvent {
            event_type,
            subject: subject(&secret.scope, secret.id),
            before: None,
            after: Some(after),
            reason: None,
        })
        .await?;
    Ok(())
}
