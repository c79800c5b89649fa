//! The environments of all pipelines, followed by the templates that further ones are made of.

use std::collections::HashMap;

use greenroom_api_types::environment::{Environment as Wire, ListedEnvironment, Lock};
use greenroom_api_types::session::SessionDeployment;
use greenroom_domain::definition::EnvironmentTemplate;
use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_store::Store;
use greenroom_store::deployment::DeploymentRecord;
use greenroom_store::environment_list::{EnvironmentFilter, TemplateRecord};
use greenroom_store::page::{Page, PageResult, Total};

use crate::consistent_read;
use crate::environment;
use crate::failure::Failure;
use crate::web_url::WebUrls;

/// Returns a page of the environments that match the filter. Templates come after all environments, if the
/// filter has no condition on the lock, which a template does not have.
pub async fn list(
    store: &Store,
    organization: OrganizationId,
    filter: &EnvironmentFilter,
    page: Page,
    urls: WebUrls<'_>,
    summarize: impl Fn(DeploymentRecord) -> SessionDeployment,
) -> Result<PageResult<ListedEnvironment>, Failure> {
    let slugs = store.listed_pipelines(organization, filter).await?;
    let pipelines: Vec<_> = slugs.iter().map(|(id, _)| *id).collect();
    let slugs: HashMap<_, _> = slugs.into_iter().collect();
    let found = store.environments_of_pipelines(organization, &pipelines, filter, page).await?;
    let PageResult { rows, total } = found;
    let mut found = consistent_read::settled(store, organization, rows).await?;
    found.retain(|environment| filter.matches_lock(environment));
    let ids: Vec<_> = found.iter().map(|environment| environment.id).collect();
    let mut last = store.last_of_environments(organization, &ids).await?;
    let mut rows = Vec::with_capacity(found.len());
    for found in found {
        let (pipeline_id, last) = (found.pipeline_id, last.remove(&found.id).map(&summarize));
        rows.push(ListedEnvironment {
            environment: environment::wire(urls, found, last),
            pipeline_id: pipeline_id.to_string(),
            pipeline: slugs.get(&pipeline_id).cloned().unwrap_or_default(),
            template: false,
        });
    }
    let templates = templates(store, organization, filter, &pipelines).await?;
    let count = i64::try_from(templates.len()).map_err(Failure::internal)?;
    let on_page = places_of_templates(page, total);
    let skip = usize::try_from(on_page.offset).unwrap_or(usize::MAX);
    let take = usize::try_from(on_page.limit).unwrap_or_default();
    for (record, template) in templates.into_iter().skip(skip).take(take) {
        let slug = slugs.get(&record.pipeline_id).cloned().unwrap_or_default();
        rows.push(listed(record, template, slug));
    }
    Ok(PageResult { rows, total: Total { count: total.count.saturating_add(count), ..total } })
}

/// Returns which of the templates are on a page, after `environments` environments in all. Public for the tests in
/// `tests/`.
#[doc(hidden)]
pub fn places_of_templates(page: Page, environments: Total) -> Page {
    // If there are more environments than were counted, the page may still be one of them.
    let after = page.offset.saturating_sub(environments.count);
    let limit = if environments.capped { 0 } else { page.limit.saturating_add(after.min(0)).max(0) };
    Page { limit: limit.min(page.limit), offset: after.max(0) }
}

/// Returns the templates that match the filter.
async fn templates(
    store: &Store,
    organization: OrganizationId,
    filter: &EnvironmentFilter,
    pipelines: &[PipelineId],
) -> Result<Vec<(TemplateRecord, EnvironmentTemplate)>, Failure> {
    if filter.is_held.is_some() || filter.holder.is_some() {
        return Ok(Vec::new());
    }
    let mut matching = Vec::new();
    for record in store.templates_of_pipelines(organization, pipelines).await? {
        let template: EnvironmentTemplate =
            serde_json::from_value(record.template.clone()).map_err(Failure::internal)?;
        if is_match(filter, &template) {
            matching.push((record, template));
        }
    }
    Ok(matching)
}

fn is_match(filter: &EnvironmentFilter, template: &EnvironmentTemplate) -> bool {
    let labels = &template.settings.labels;
    let contains = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
    filter.labels.iter().all(|label| labels.contains(label))
        && filter.text.as_ref().is_none_or(|part| {
            contains(&template.pattern(), part) || labels.iter().any(|label| contains(label, part))
        })
}

fn listed(record: TemplateRecord, template: EnvironmentTemplate, slug: String) -> ListedEnvironment {
    ListedEnvironment {
        environment: Wire {
            env_name: template.pattern(),
            url: template.settings.url,
            labels: template.settings.labels,
            configuration: record.template,
            lock: Lock::free(),
            last_deployment: None,
            deployed: None,
            cleanup_failed: None,
            free_since: None,
            work_slot: None,
            web_url: None,
        },
        pipeline_id: record.pipeline_id.to_string(),
        pipeline: slug,
        template: true,
    }
}
