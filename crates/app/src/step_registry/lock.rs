//! Resolves the steps of registries that a definition uses. It is done when the definition is saved, so that a registry can change
//! or be down afterwards.

use std::collections::BTreeMap;

use greenroom_api_types::pipeline::StepLockChange;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::definition::{Definition, Diagnostic, LockedManifest, StepReference};
use greenroom_domain::id::OrganizationId;
use greenroom_domain::step::{
    LockChange, LockDiff, LockedStep, StepLock, StepManifest, Unresolved, lock_diff,
};
use greenroom_store::Store;

use super::resolve::{find, view};
use crate::failure::{Code, Failure};

/// How many different references a definition may have.
const MAX_REFERENCES: usize = 100;
/// The size of the manifests that a stored definition contains, together.
const MAX_MANIFEST_BYTES: usize = 1024 * 1024;

/// What the references of a definition mean now.
pub type FoundSteps = BTreeMap<String, Result<LockedManifest, Unresolved>>;

/// Resolves the references of a definition.
#[boxed_futures]
pub async fn find_steps(
    store: &Store,
    organization: OrganizationId,
    definition: &Definition,
) -> Result<FoundSteps, Failure> {
    let references = definition.step_references();
    if references.len() > MAX_REFERENCES {
        let detail = format!(
            "The definition uses {} different steps of registries, and {MAX_REFERENCES} are possible. Split the pipeline, or use the \
             same versions.",
            references.len()
        );
        return Err(Failure::new(Code::InvalidDefinition, detail));
    }
    let registries = store.all_step_registries(organization).await?;
    let mut found = FoundSteps::new();
    let mut bytes = 0;
    for reference in references {
        let step = match find(store, organization, &registries, reference).await? {
            Ok(step) => step,
            Err(unresolved) => {
                found.insert(reference.to_string(), Err(unresolved));
                continue;
            }
        };
        let text = store.step_manifest(organization, &step).await?;
        bytes += text.len();
        if bytes > MAX_MANIFEST_BYTES {
            let detail = "The manifests of the steps that the definition uses have more than 1 MiB together. Use fewer steps of \
                          registries in one pipeline.";
            return Err(Failure::new(Code::InvalidDefinition, detail));
        }
        // It was checked when the version was read from its registry.
        let manifest = StepManifest::parse(&text, Some(&step.name)).map_err(|wrong| {
            Failure::internal(format!("the stored manifest of `{reference}` is not valid: {wrong:?}"))
        })?;
        found.insert(reference.to_string(), Ok(LockedManifest { step, manifest }));
    }
    Ok(found)
}

/// Checks what the definition gives to the steps, and locks them. `source` is the text that it was parsed from.
pub fn lock_steps(
    found: FoundSteps,
    source: &str,
    definition: Definition,
) -> Result<Definition, Vec<Diagnostic>> {
    let manifest = |reference: &StepReference| match found.get(&reference.to_string()) {
        Some(Ok(locked)) => Ok(&locked.manifest),
        Some(Err(unresolved)) => Err(unresolved.clone()),
        None => Err(Unresolved::no_such_registry(reference, [])),
    };
    definition.check_steps(source, &manifest)?;
    let locked = found.into_iter().filter_map(|(reference, step)| Some((reference, step.ok()?)));
    Ok(Definition { locked_steps: locked.collect(), ..definition })
}

/// Returns what the lock of a new version changes, ordered by the references.
pub fn step_changes(before: &StepLock, after: &StepLock) -> Vec<StepLockChange> {
    let LockDiff { added, removed, changed } = lock_diff(before, after);
    let change = |uses: String, before: Option<&LockedStep>, after: Option<&LockedStep>| StepLockChange {
        before: before.map(|step| view(&uses, step)),
        after: after.map(|step| view(&uses, step)),
        uses,
    };
    let added = added.into_iter().map(|(uses, step)| change(uses, None, Some(&step)));
    let removed = removed.into_iter().map(|(uses, step)| change(uses, Some(&step), None));
    let changed = changed.into_iter();
    let changed =
        changed.map(|(uses, LockChange { before, after })| change(uses, Some(&before), Some(&after)));
    let mut changes: Vec<StepLockChange> = added.chain(removed).chain(changed).collect();
    changes.sort_by(|one, other| one.uses.cmp(&other.uses));
    changes
}
