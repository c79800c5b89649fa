//! Reading and renaming an organization.

use greenroom_api_types::organization::{Organization as Wire, UpdateOrganization};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::text::Name;
use greenroom_store::Command;
use greenroom_store::organization::Organization;
use serde_json::json;

use crate::failure::Failure;
use crate::precondition::IfMatch;

#[boxed_futures]
pub async fn update(
    command: &mut Command,
    condition: &IfMatch,
    request: &UpdateOrganization,
) -> Result<Organization, Failure> {
    let name = Name::new(&request.name).map_err(|error| Failure::field("/name", error))?;
    let before = command.organization_for_update().await?;
    condition.check(before.revision)?;
    if before.name == name.as_str() {
        return Ok(before);
    }
    let after = command.rename_organization(&name).await?;
    command
        .record_event(NewEvent {
            event_type: EventType::OrganizationUpdated,
            subject: format!("organizations/{}", after.id),
            before: Some(json!({ "name": before.name })),
            after: Some(json!({ "name": after.name })),
            reason: None,
        })
        .await?;
    Ok(after)
}

pub fn wire(organization: Organization) -> Wire {
    Wire {
        id: organization.id.to_string(),
        slug: organization.slug,
        name: organization.name,
        created_at: organization.created_at,
        updated_at: organization.updated_at,
    }
}
