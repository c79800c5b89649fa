//! Reading events: which principal may see which events.

use greenroom_domain::event::{Category, Event};
use greenroom_domain::policy::Action;
use greenroom_domain::principal::Principal;
use greenroom_domain::token_grant::PipelineLimit;
use greenroom_store::event::EventFilter;

use crate::app::failure::Failure;

/// Narrows a filter to what the principal may see. Fails if the filter requests audit events and the
/// principal may not see them.
pub fn visible(principal: &Principal, mut filter: EventFilter) -> Result<EventFilter, Failure> {
    if !principal.may(Action::EventReadAudit) {
        if filter.category == Some(Category::Audit) {
            principal.require(Action::EventReadAudit)?;
        }
        filter.category = Some(Category::Deployment);
    }
    if principal.pipelines != PipelineLimit::All && filter.category == Some(Category::Audit) {
        return Err(Failure::token_limited());
    }
    filter.within = principal.pipelines.clone();
    Ok(filter)
}

pub fn sees(principal: &Principal, event: &Event) -> bool {
    (event.category != Category::Audit || principal.may(Action::EventReadAudit))
        && principal.pipelines.contains_subject(&event.subject)
}

/// Applies the same filter as the store in SQL, for events from the feed.
pub fn matches(filter: &EventFilter, event: &Event) -> bool {
    filter.category.is_none_or(|category| category == event.category)
        && filter.event_types.as_ref().is_none_or(|types| types.contains(&event.event_type))
        && filter.actor.is_none_or(|actor| Some(actor) == event.actor_id)
        && filter.subject.as_ref().is_none_or(|subject| *subject == event.subject)
        && filter.from.is_none_or(|from| event.time >= from)
        && filter.to.is_none_or(|to| event.time < to)
        && filter.within.contains_subject(&event.subject)
}
