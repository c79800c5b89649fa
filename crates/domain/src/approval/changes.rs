//! What is new in the subject of an approval, compared with what the stage did when it last succeeded in the environment.

use super::subject::{Subject, SubjectStep};
use crate::definition::{LockedSteps, Stage};

/// What the stage did before.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    pub commit_id: &'a str,
    /// The digest of its definition.
    pub definition: &'a str,
    /// The stage in that definition, if it was there.
    pub stage: Option<&'a Stage>,
    /// The steps of registries that the definition had locked.
    pub locked_steps: &'a LockedSteps,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub before: String,
    pub after: String,
}

/// A step that was added, removed, or has another image or version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepChange {
    pub name: Option<String>,
    /// The image or the step of a registry; `None` if the step was added.
    pub before: Option<String>,
    /// `None` if the step was removed.
    pub after: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// `None` if the commit is the same.
    pub commit: Option<Change>,
    /// The digests of the definitions; `None` if the definition is the same.
    pub definition: Option<Change>,
    pub steps: Vec<StepChange>,
}

/// Compares a subject with what its stage did before. Steps are compared by their order.
pub fn changes(before: Before<'_>, after: &Subject) -> Changes {
    let changed = |before: &str, after: &str| {
        (before != after).then(|| Change { before: before.to_owned(), after: after.to_owned() })
    };
    let steps = before.stage.map(|stage| stage.steps.as_slice()).unwrap_or_default();
    let steps: Vec<_> = steps.iter().map(|step| SubjectStep::new(step, before.locked_steps)).collect();
    let count = steps.len().max(after.steps.len());
    Changes {
        commit: changed(before.commit_id, &after.commit_id),
        definition: changed(before.definition, &after.definition),
        steps: (0..count).filter_map(|index| step(steps.get(index), after.steps.get(index))).collect(),
    }
}

fn step(before: Option<&SubjectStep>, after: Option<&SubjectStep>) -> Option<StepChange> {
    let work = |step: &SubjectStep| match (&step.uses, &step.locked) {
        (Some(uses), Some(locked)) => Some(format!("{uses} ({}, {})", locked.version, locked.digest.short())),
        (uses, _) => uses.clone().or_else(|| step.image.clone()),
    };
    let change = StepChange {
        name: after.or(before).and_then(|step| step.name.clone()),
        before: before.and_then(work),
        after: after.and_then(work),
    };
    (change.before != change.after).then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::SubjectInput;
    use crate::definition::{Definition, parse};
    use crate::text::CommitId;

    fn definition(images: &[&str]) -> Definition {
        let steps: String = images
            .iter()
            .map(|image| format!("      - {{ name: roll, run: x, image: {image} }}\n"))
            .collect();
        parse(&format!("version: 1\nstages:\n  release:\n    steps:\n{steps}")).unwrap()
    }

    #[test]
    fn commit_definition_and_steps_are_compared() {
        let (old, new) = (definition(&["a:1", "b:1"]), definition(&["a:2", "b:1", "c:1"]));
        let commit = CommitId::new(&"1".repeat(40)).unwrap();
        let (definition, stage) = ("sha256:new", new.stage("release").unwrap());
        let input = SubjectInput {
            definition,
            stage,
            locked_steps: &new.locked_steps,
            environment: None,
            commit: &commit,
            branch: None,
            needs: &[],
            caches: &[],
        };
        let subject = Subject::new(&input).unwrap();
        let locked_steps = &new.locked_steps;
        let same = Before { commit_id: commit.as_str(), definition, stage: Some(stage), locked_steps };
        assert_eq!(changes(same, &subject), Changes::default());
        let stage = old.stage("release");
        let other = Before { commit_id: "0000000", definition: "sha256:old", stage, locked_steps };
        let found = changes(other, &subject);
        assert_eq!(found.commit.unwrap().before, "0000000");
        assert_eq!(found.definition.unwrap().after, "sha256:new");
        let steps: Vec<_> =
            found.steps.iter().map(|step| (step.before.as_deref(), step.after.as_deref())).collect();
        assert_eq!(steps, [(Some("a:1"), Some("a:2")), (None, Some("c:1"))]);
        // A stage that is new has only new steps.
        assert_eq!(changes(Before { stage: None, ..same }, &subject).steps.len(), 3);
    }
}
