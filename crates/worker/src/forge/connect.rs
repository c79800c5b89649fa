//! Makes the client of a forge, in its dialect.

use greenroom_domain::forge::{ForgeKind, ForgeRepository};
use greenroom_domain::id::OrganizationId;
use greenroom_keys::Keys;
use greenroom_outbound::{OutboundClient, Requester};
use greenroom_store::forge::ForgeRecord;
use greenroom_store::{Store, StoreError};

use super::api::Api;
use super::credential::open_credential;
use super::error::ForgeError;
use super::forgejo::Forgejo;
use super::github::Github;
use super::interface::{Connection, Forge};

/// Makes the client of a forge. Nothing is sent yet.
pub fn connect(
    client: &OutboundClient,
    requester: &Requester,
    connection: Connection<'_>,
) -> Result<Box<dyn Forge>, ForgeError> {
    let kind = connection.kind;
    let api = Api::new(client.clone(), requester.clone(), connection)?;
    Ok(match kind {
        ForgeKind::Github => Box::new(Github(api)),
        ForgeKind::Forgejo => Box::new(Forgejo(api)),
    })
}

/// Makes the client of a stored forge, with its opened credential. The caller records how its calls went
/// (`Store::record_forge_call`).
pub async fn connect_stored(
    (store, keys, client): (&Store, &Keys, &OutboundClient),
    requester: &Requester,
    organization: OrganizationId,
    forge: &ForgeRecord,
    repository: &ForgeRepository,
) -> Result<Result<Box<dyn Forge>, ForgeError>, StoreError> {
    let token = match open_credential(store, keys, organization, forge).await? {
        Ok(token) => token,
        Err(error) => return Ok(Err(error.into())),
    };
    let connection = Connection { kind: forge.kind, address: &forge.address, repository, token };
    Ok(connect(client, requester, connection))
}
