use super::*;

/// Which results of steps occur in an attempt and what its report contains, one bit each, in the order of the
/// columns of [`OUTCOMES`].
const FACTS: usize = 8;

/// For every combination of facts the outcome of the attempt. `1`: the fact holds, `0`: it does not, `-`: it
/// does not matter. Unlike the rows of the doc comment, no two rows apply to the same combination.
///
/// Columns: a step failed, was canceled, errored, has not ended or was skipped; the report has a timeout, a
/// failure, an error; the attempt or its deployment was canceled.
const OUTCOMES: [(&str, JobStatus, Option<Reason>); 15] = [
    ("1--- 1---", JobStatus::Failed, Some(Reason::TimedOut)),
    ("1--- 0---", JobStatus::Failed, Some(Reason::StepFailed)),
    ("01-- ----", JobStatus::Canceled, None),
    ("001- ---1", JobStatus::Canceled, None),
    ("0001 ---1", JobStatus::Canceled, None),
    ("0000 1---", JobStatus::Failed, Some(Reason::TimedOut)),
    ("0000 01--", JobStatus::Failed, Some(FAILURE)),
    ("0000 001-", JobStatus::Errored, Some(Reason::RunnerError)),
    ("0000 000-", JobStatus::Succeeded, None),
    ("001- 1--0", JobStatus::Failed, Some(Reason::TimedOut)),
    ("0001 1--0", JobStatus::Failed, Some(Reason::TimedOut)),
    ("001- 01-0", JobStatus::Failed, Some(FAILURE)),
    ("0001 01-0", JobStatus::Failed, Some(FAILURE)),
    ("001- 00-0", JobStatus::Errored, Some(Reason::RunnerError)),
    ("0001 00-0", JobStatus::Errored, Some(Reason::RunnerError)),
];

const FAILURE: Reason = Reason::CommitNotFound;

fn expected(facts: [bool; FACTS]) -> (JobStatus, Option<Reason>) {
    let applies = |pattern: &str| {
        pattern.chars().filter(|c| *c != ' ').zip(facts).all(|(c, fact)| c == '-' || (c == '1') == fact)
    };
    let rows: Vec<_> = OUTCOMES.iter().filter(|(pattern, ..)| applies(pattern)).collect();
    assert_eq!(rows.len(), 1, "exactly one row applies to {facts:?}: {rows:?}");
    (rows[0].1, rows[0].2)
}

/// All lists of up to `length` steps.
fn step_lists(length: usize) -> Vec<Vec<StepStatus>> {
    let mut lists = vec![Vec::new()];
    for longest in 0..length {
        for list in lists.clone().into_iter().filter(|list| list.len() == longest) {
            for status in StepStatus::ALL {
                lists.push(list.iter().chain([status]).copied().collect());
            }
        }
    }
    lists
}

#[test]
fn every_outcome_follows_from_steps_and_report() {
    for steps in step_lists(4) {
        let any = |statuses: &[StepStatus]| steps.iter().any(|step| statuses.contains(step));
        let unfinished = [StepStatus::Pending, StepStatus::Running, StepStatus::Skipped];
        for report in 0..16 {
            let bit = |position: u8| report >> position & 1 == 1;
            let (timed_out, has_failure, has_error, is_canceled) = (bit(0), bit(1), bit(2), bit(3));
            let facts = [
                any(&[StepStatus::Failed]),
                any(&[StepStatus::Canceled]),
                any(&[StepStatus::Errored]),
                any(&unfinished),
                timed_out,
                has_failure,
                has_error,
                is_canceled,
            ];
            let report = AttemptReport { timed_out, failure: has_failure.then_some(FAILURE), has_error };
            assert_eq!(
                attempt_outcome(&steps, report, is_canceled),
                expected(facts),
                "{steps:?} {report:?} canceled: {is_canceled}"
            );
        }
    }
}

#[test]
fn every_step_has_a_final_status_at_the_end_of_its_attempt() {
    for attempt in JobStatus::FINAL {
        for step in StepStatus::ALL {
            let expected = match (step, attempt) {
                (StepStatus::Pending, _) => StepStatus::Skipped,
                (StepStatus::Running, JobStatus::Errored) => StepStatus::Errored,
                (StepStatus::Running, JobStatus::Succeeded | JobStatus::Failed | JobStatus::Canceled) => {
                    StepStatus::Canceled
                }
                (ended, _) => *ended,
            };
            assert_eq!(step.at_end_of(*attempt), expected, "{step} {attempt}");
            assert!(expected.is_final());
        }
    }
}
