//! A failure of the corpus as a model gets it: what `crates/worker/src/model/context.rs` makes of the rows of a failure.

use greenroom_analysis::model::{Change, ChangeKind, EvidenceItem, FailureContext};
use greenroom_analysis::reduce::Reduction;
use greenroom_domain::failure::{Because, Category, VerdictKind};

use crate::corpus::log::StepEnd;

/// The stage of all cases, without the name of the case: that would be the solution.
const DEFINITION: &str = r#"{"steps":[{"name":"main","run":"exec bash harness.sh"}],"timeout":"10m"}"#;
/// What has changed if no forge is connected.
const COMMITS: &str =
    "commit bad0000000000000000000000000000000000000 instead of 900d000000000000000000000000000000000000";

/// Why the verdict about every case is `yours`.
const BECAUSE: [Because; 3] = [Because::GoodBefore, Because::CommitChanged, Because::NobodyElse];

/// Returns the context, with the category that was found without a model.
pub(super) fn context(reduction: &Reduction, category: &str, end: &StepEnd) -> FailureContext {
    let items = reduction.items.iter().enumerate();
    let evidence = items.map(|(index, item)| EvidenceItem {
        id: evidence_id(index),
        from_line: item.from_line,
        to_line: item.to_line,
        text: item.text.clone(),
    });
    FailureContext {
        stage: "deploy".to_owned(),
        step: "main".to_owned(),
        exit_code: end.exit_code.map(i64::from),
        reason: end.reason.clone().unwrap_or_default(),
        verdict: VerdictKind::Yours.as_str().to_owned(),
        verdict_because: BECAUSE.map(|because| because.as_str().to_owned()).to_vec(),
        category: category.to_owned(),
        categories: Category::ALL.iter().map(|category| category.as_str().to_owned()).collect(),
        evidence: evidence.collect(),
        changes: vec![change("C1", ChangeKind::Commit, COMMITS, &[])],
        definition: DEFINITION.to_owned(),
    }
}

/// Returns the id of an item of a reduction.
pub(super) fn evidence_id(index: usize) -> String {
    format!("E{}", index + 1)
}

pub(super) fn change(id: &str, kind: ChangeKind, title: &str, files: &[&str]) -> Change {
    let files = files.iter().map(|file| (*file).to_owned()).collect();
    Change { id: id.to_owned(), kind, title: title.to_owned(), files }
}
