//! The templates of good runs. They are made when first needed, and stored beside the log.

use futures_util::TryStreamExt;
use greenroom_analysis::reduce::TemplateSet;
use greenroom_domain::id::OrganizationId;
use greenroom_store::failure::Baseline;
use greenroom_store::object::log_templates_name;

use super::log::{Extent, StepLog};
use crate::log_reader::{LogReadError, LogReader};
use crate::objects::{Objects, ObjectsError};

/// More than the templates of any log that is read.
const MAX_SET_BYTES: usize = 64 * 1024 * 1024;

/// Returns the templates of a good run; `None` if its log is not stored any more, or if they were not made before and the
/// log is longer than what is read for those of a running step.
pub(super) async fn templates(
    reader: LogReader<'_>,
    organization: OrganizationId,
    baseline: Baseline,
    extent: Extent,
) -> Result<Option<TemplateSet>, LogReadError> {
    let name = log_templates_name(organization, baseline.step);
    if let Some(stored) = stored_templates(reader.objects, &name).await? {
        return Ok(Some(stored));
    }
    let bytes = baseline.log_bytes;
    if extent == Extent::Running && bytes > extent.max_read_bytes() {
        return Ok(None);
    }
    let log = StepLog { organization, step: baseline.step, bytes, max_read_bytes: extent.max_read_bytes() };
    let templates = match log.reduce(reader, &[]).await {
        Ok(reducer) => reducer.templates(),
        Err(LogReadError::Objects(ObjectsError::Missing(_))) => return Ok(None),
        Err(error) => return Err(error),
    };
    reader.objects.put(&name, templates.to_bytes().into()).await?;
    Ok(Some(templates))
}

async fn stored_templates(objects: &Objects, name: &str) -> Result<Option<TemplateSet>, ObjectsError> {
    let mut stream = match objects.stream(name).await {
        Ok(stream) => stream,
        Err(ObjectsError::Missing(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    while let Some(piece) =
        stream.try_next().await.map_err(|error| ObjectsError::Unavailable(error.into()))?
    {
        bytes.extend_from_slice(&piece);
        if bytes.len() > MAX_SET_BYTES {
            return Ok(None);
        }
    }
    // What can't be read was written by another version, and is made again.
    Ok(TemplateSet::from_bytes(&bytes).ok())
}
