//! Reading events: which principal may see which events.

use greenroom_domain::event::{Category, Event, EventType};
use greenroom_domain::policy::Action;
use greenroom_domain::principal::Principal;
use greenroom_domain::token_grant::PipelineLimit;
use greenroom_store::event::EventFilter;

use crate::failure::Failure;

/// Narrows a filter to what the principal may see. Fails if the filter requests audit events and the
/// principal may not see them. Those that every member may see are included if the filter requests no category.
pub fn visible(principal: &Principal, mut filter: EventFilter) -> Result<EventFilter, Failure> {
    if !principal.may(Action::EventReadAudit) {
        if filter.category == Some(Category::Audit) {
            principal.require(Action::EventReadAudit)?;
        }
        if filter.category.is_none() {
            let readable = EventType::ALL.iter().filter(|event_type| event_type.is_read_by_members());
            filter.types_of_any_category =
                readable.map(|event_type| event_type.as_str().to_owned()).collect();
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
    let is_read_by_members = event.event_type.parse().is_ok_and(EventType::is_read_by_members);
    (event.category != Category::Audit || is_read_by_members || principal.may(Action::EventReadAudit))
        && principal.pipelines.contains_subject(&event.subject)
}

/// Applies the same filter as the store in SQL, for events from the feed.
pub fn matches(filter: &EventFilter, event: &Event) -> bool {
    (filter.category.is_none_or(|category| category == event.category)
        || filter.types_of_any_category.contains(&event.event_type))
        && filter.event_types.as_ref().is_none_or(|types| types.contains(&event.event_type))
        && filter.actor.is_none_or(|actor| Some(actor) == event.actor_id)
        && filter.subject.as_ref().is_none_or(|subject| *subject == event.subject)
        && filter.from.is_none_or(|from| event.time >= from)
        && filter.to.is_none_or(|to| event.time < to)
        && filter.within.contains_subject(&event.subject)
}
