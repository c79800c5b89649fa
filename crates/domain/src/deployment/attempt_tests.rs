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

/// What a runner can report: the start of a step, or its end.
#[derive(Clone, Copy, Debug)]
enum Report {
    Start(usize),
    End(usize, StepStatus),
}

/// Applies a report as the store does. Returns whether it was accepted.
fn apply(steps: &mut [StepStatus], report: Report) -> bool {
    let (step, status) = match report {
        Report::Start(step) => (step, StepStatus::Running),
        Report::End(step, status) => (step, status),
    };
    let is_accepted = match report {
        Report::Start(_) => {
            matches!(steps[step], StepStatus::Pending | StepStatus::Running) && step_may_start(&steps[..step])
        }
        Report::End(..) => status.may_end_from(steps[step]),
    };
    if is_accepted {
        steps[step] = status;
    }
    is_accepted
}

/// Every sequence of reports of a runner that reports what it likes, for attempts of up to three steps.
#[test]
fn an_attempt_succeeds_only_if_each_step_was_started_in_order() {
    const ENDS: [StepStatus; 4] =
        [StepStatus::Succeeded, StepStatus::Failed, StepStatus::Errored, StepStatus::Canceled];
    for count in 1..=3 {
        let reports: Vec<Report> = (0..count)
            .flat_map(|step| {
                std::iter::once(Report::Start(step)).chain(ENDS.map(|status| Report::End(step, status)))
            })
            .collect();
        let mut seen = std::collections::BTreeSet::new();
        // The statuses, and which steps have started, in the order of their first start.
        let mut open = vec![(vec![StepStatus::Pending; count], Vec::<usize>::new())];
        let mut succeeded = 0;
        while let Some((steps, started)) = open.pop() {
            if !seen.insert((format!("{steps:?}"), started.clone())) {
                continue;
            }
            let running = steps.iter().filter(|step| **step == StepStatus::Running).count();
            assert!(running <= 1, "one step at a time: {steps:?}");
            let (outcome, _) = attempt_outcome(&steps, AttemptReport::default(), false);
            if outcome == JobStatus::Succeeded {
                assert_eq!(started, (0..count).collect::<Vec<_>>(), "{steps:?}");
                succeeded += 1;
            }
            for report in &reports {
                let (mut steps, mut started) = (steps.clone(), started.clone());
                if apply(&mut steps, *report) {
                    if let Report::Start(step) = report
                        && !started.contains(step)
                    {
                        started.push(*step);
                    }
                    open.push((steps, started));
                }
            }
        }
        assert_eq!(succeeded, 1, "one way to succeed with {count} steps");
    }
}
