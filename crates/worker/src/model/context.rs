//! What a model is given about a failure: the evidence, what has changed, and the stage. Pure.

use greenroom_analysis::model::{Change, ChangeKind, EvidenceItem, FailureContext};
use greenroom_domain::definition::Stage;
use greenroom_domain::failure::{Category, CommitList};
use greenroom_store::failure::{CollectedRecord, FailureChanges, FailureRecord};

/// Returns the context. The ids of evidence are those of the API.
pub fn context(
    failure: &FailureRecord,
    collected: &CollectedRecord,
    changes: Option<&FailureChanges>,
    stage: Option<&Stage>,
) -> FailureContext {
    let evidence = collected.evidence.clone().unwrap_or_default();
    let items = evidence.items.iter().enumerate().map(|(index, item)| EvidenceItem {
        id: format!("E{}", index + 1),
        from_line: item.from_line,
        to_line: item.to_line,
        text: item.text.clone(),
    });
    FailureContext {
        stage: failure.stage_key.clone(),
        step: failure.step.clone().unwrap_or_default(),
        exit_code: failure.exit_code.map(i64::from),
        reason: failure.reason.as_str().to_owned(),
        verdict: collected.verdict.as_str().to_owned(),
        verdict_because: collected.because.iter().map(|because| because.as_str().to_owned()).collect(),
        category: collected.category.as_str().to_owned(),
        categories: Category::ALL.iter().map(|category| category.as_str().to_owned()).collect(),
        evidence: items.collect(),
        changes: changes
            .map(|changes| numbered(failure, changes, evidence.commits.as_ref()))
            .unwrap_or_default(),
        definition: stage.and_then(|stage| serde_json::to_string(stage).ok()).unwrap_or_default(),
    }
}

fn numbered(failure: &FailureRecord, changes: &FailureChanges, commits: Option<&CommitList>) -> Vec<Change> {
    let mut found = commit_changes(failure, changes, commits);
    let mut add = |kind, title| found.push((kind, title, Vec::new()));
    if let Some(definition) = &changes.definition {
        let stages = definition.stages.join(", ");
        let title = format!(
            "version {} of the definition, after {}; stages: {stages}",
            definition.to, definition.from
        );
        add(ChangeKind::Definition, title);
    }
    for image in &changes.images {
        add(
            ChangeKind::Image,
            format!("image of step {}: {} instead of {}", image.step, image.to, image.from),
        );
    }
    if let Some((from, to)) = &changes.runner {
        add(ChangeKind::Runner, format!("runner {to} instead of {from}"));
    }
    let numbered = found.into_iter().enumerate();
    numbered
        .map(|(index, (kind, title, files))| Change { id: format!("C{}", index + 1), kind, title, files })
        .collect()
}

/// Returns the commits that a forge lists, the files of all together with the newest one. Without a list, there is one change
/// if the commit is another.
fn commit_changes(
    failure: &FailureRecord,
    changes: &FailureChanges,
    commits: Option<&CommitList>,
) -> Vec<(ChangeKind, String, Vec<String>)> {
    let listed = commits.filter(|list| !list.commits.is_empty());
    match listed {
        Some(list) => {
            let mut files = list.files.clone();
            let titles = list.commits.iter();
            titles
                .map(|commit| (ChangeKind::Commit, commit.title.clone(), std::mem::take(&mut files)))
                .collect()
        }
        None if failure.commit_id != changes.last_good.commit_id => {
            let title = format!("commit {} instead of {}", failure.commit_id, changes.last_good.commit_id);
            vec![(ChangeKind::Commit, title, Vec::new())]
        }
        None => Vec::new(),
    }
}
