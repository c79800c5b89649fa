//! What a model is given about a failure.

use greenroom_analysis::model::{ChangeKind, Prompt};
use greenroom_domain::deployment::{Reason, StageStatus};
use greenroom_domain::failure::{
    Because, Category, CommitList, CommitListStatus, CommitTitle, Evidence, EvidenceItem as StoredItem,
    VerdictKind,
};
use greenroom_store::failure::{
    CollectedRecord, DefinitionChange, FailureChanges, FailureRecord, GoodRun, ImageChange,
};
use greenroom_worker::internals::context;
use uuid::Uuid;

fn failure() -> (FailureRecord, CollectedRecord) {
    let item =
        StoredItem { from_line: 7, to_line: 7, text: "ERROR: no table".to_owned(), ..StoredItem::default() };
    let collected = CollectedRecord {
        category: Category::Database,
        fingerprint: "fp_1".to_owned(),
        decisive: item.text.clone(),
        verdict: VerdictKind::Yours,
        because: vec![Because::GoodBefore],
        good_job_id: None,
        evidence: Some(Evidence { items: vec![item], ..Evidence::default() }),
    };
    let failure = FailureRecord {
        id: Uuid::nil().into(),
        pipeline_id: Uuid::nil().into(),
        deployment_id: Uuid::nil().into(),
        stage_key: "deploy".to_owned(),
        attempt: 1,
        job_id: None,
        step_run_id: None,
        step: Some("migrate".to_owned()),
        place: "qa-1".to_owned(),
        commit_id: "2222".to_owned(),
        branch: None,
        definition_version: 2,
        created_by: Uuid::nil().into(),
        created_by_name: Some("Ada".to_owned()),
        status: StageStatus::Failed,
        reason: Reason::StepFailed,
        detail: None,
        exit_code: Some(1),
        failed_at: jiff::Timestamp::UNIX_EPOCH,
        collected: Some(collected.clone()),
    };
    (failure, collected)
}

fn changes() -> FailureChanges {
    FailureChanges {
        last_good: GoodRun {
            deployment_id: Uuid::nil().into(),
            commit_id: "1111".to_owned(),
            place: "qa-1".to_owned(),
            at: jiff::Timestamp::UNIX_EPOCH,
        },
        definition: Some(DefinitionChange { from: 1, to: 2, stages: vec!["deploy".to_owned()] }),
        images: vec![ImageChange { step: "migrate".to_owned(), from: "a".to_owned(), to: "b".to_owned() }],
        runner: Some(("one".to_owned(), "two".to_owned())),
    }
}

#[test]
fn changes_are_numbered_and_contain_no_person() {
    let (failure, collected) = failure();
    let given = context(&failure, &collected, Some(&changes()), None);
    let kinds: Vec<_> = given.changes.iter().map(|change| (change.id.as_str(), change.kind)).collect();
    let expected = [
        ("C1", ChangeKind::Commit),
        ("C2", ChangeKind::Definition),
        ("C3", ChangeKind::Image),
        ("C4", ChangeKind::Runner),
    ];
    assert_eq!(kinds, expected);
    assert_eq!((given.evidence[0].id.as_str(), given.evidence[0].from_line), ("E1", 7));
    let prompt = Prompt::new(&given).unwrap().text();
    assert!(prompt.contains("2222 instead of 1111") && !prompt.contains("Ada"), "{prompt}");
    assert!(context(&failure, &collected, None, None).changes.is_empty());
}

#[test]
fn commits_of_a_forge_have_titles_and_files() {
    let (failure, mut collected) = failure();
    let title = |text: &str| CommitTitle { id: "2222".to_owned(), title: text.to_owned() };
    if let Some(evidence) = &mut collected.evidence {
        evidence.commits = Some(CommitList {
            status: CommitListStatus::Ready,
            total: 2,
            commits: vec![title("second"), title("first")],
            files: vec!["db/41.sql".to_owned()],
        });
    }
    let given = context(&failure, &collected, Some(&changes()), None);
    let (first, second) = (&given.changes[0], &given.changes[1]);
    assert_eq!((first.title.as_str(), first.files.len()), ("second", 1));
    assert_eq!((second.title.as_str(), second.files.len()), ("first", 0));
}
