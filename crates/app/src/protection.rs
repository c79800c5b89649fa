//! Changes of a pipeline that weaken the protection of its environments. They need an admin.

use greenroom_api_types::problem::FieldProblem;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::definition::{Definition, Weakened, weakens};
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::pipeline::Pipeline;
use greenroom_domain::policy::{Action, Denied};
use greenroom_domain::repository::identity;
use greenroom_store::Command;
use serde_json::{Value, json};

use crate::failure::{Code, Failure};

/// Returns what the change weakens. Fails if it weakens anything and the principal may not do that. The
/// pipeline's row must be locked.
#[boxed_futures]
pub async fn check(
    command: &mut Command,
    before: &Pipeline,
    new_repository: Option<&str>,
    new_definition: Option<&Definition>,
) -> Result<Vec<Weakened>, Failure> {
    let is_other_repository = is_other_repository(before.repository.as_deref(), new_repository);
    if new_definition.is_none() && !is_other_repository {
        return Ok(Vec::new());
    }
    let current = command.current_definition(before).await?;
    let mut found = new_definition.map(|new| weakens(&current, new)).unwrap_or_default();
    // The commit is proven to be on a branch of the repository. In another repository, a branch with the same
    // name proves nothing.
    if is_other_repository && current.environments.iter().any(|environment| !environment.branches.is_empty())
    {
        let what = "the branches that may be deployed are looked up in another repository, or in none";
        found.push(Weakened { pointer: "/repository".to_owned(), what: what.to_owned() });
    }
    if found.is_empty() {
        return Ok(found);
    }
    match command.principal().require(Action::PipelineWeakenProtection) {
        Ok(()) => Ok(found),
        Err(denied) => Err(refusal(denied, found)),
    }
}

/// Records for every member what was weakened.
#[boxed_futures]
pub async fn record_event(
    command: &mut Command,
    after: &Pipeline,
    weakened: &[Weakened],
) -> Result<(), Failure> {
    if weakened.is_empty() {
        return Ok(());
    }
    let places: Vec<Value> =
        weakened.iter().map(|place| json!({ "pointer": place.pointer, "detail": place.what })).collect();
    let payload = json!({
        "id": after.id,
        "slug": after.slug,
        "name": after.name,
        "definitionVersion": after.definition_version,
        "weakened": places,
    });
    let event = NewEvent {
        event_type: EventType::PipelineProtectionWeakened,
        subject: format!("pipelines/{}", after.id),
        before: None,
        after: Some(payload),
        reason: None,
    };
    Ok(command.record_event(event).await?)
}

/// Without a repository before, nothing was proven. Public for the tests in `tests/`.
#[doc(hidden)]
pub fn is_other_repository(before: Option<&str>, after: Option<&str>) -> bool {
    before.is_some_and(|before| after.is_none_or(|after| identity(before) != identity(after)))
}

fn refusal(denied: Denied, weakened: Vec<Weakened>) -> Failure {
    let problem = |place: Weakened| FieldProblem {
        pointer: place.pointer,
        detail: place.what,
        ..FieldProblem::default()
    };
    let Failure { extensions, .. } = Failure::from(denied);
    let detail = "This change weakens the protection of environments: `errors` lists where. Ask an admin of the \
                  organization to make it, or keep the protection as it is.";
    Failure {
        errors: weakened.into_iter().map(problem).collect(),
        extensions,
        ..Failure::new(Code::ProtectionWeakened, detail)
    }
}
