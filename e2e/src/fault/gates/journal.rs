//! The journal: one file to which every step of the campaign appends what it does. It is what really happened.

use std::collections::HashMap;
use std::path::PathBuf;

use uuid::Uuid;

use crate::fault::clock::{Clock, Micros, SECOND};
use crate::fault::deployments::target::{ReportKind, StepKey, TargetReport};
use crate::fault::deployments::work::Work;
use crate::fault::fixture::parse_id;
use crate::fault::gates::definition::NOWHERE;

/// A working step appends lines more often than this.
const MAX_LINE_GAP: Micros = SECOND + SECOND / 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    Began,
    Works,
    Ended,
}

/// One line of a step. The step was alive at that time.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) kind: LineKind,
    pub(crate) pipeline: String,
    /// The lasting environment, if the stage has one.
    pub(crate) environment: Option<String>,
    pub(crate) step: StepKey,
    pub(crate) job: Uuid,
    /// The exit code with which the step is about to end.
    pub(crate) code: i32,
    pub(crate) at: Micros,
}

pub(crate) struct Journal {
    pub(crate) path: PathBuf,
    pub(crate) clock: Clock,
}

impl Journal {
    /// Returns all lines, by time.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        let mut lines: Vec<Line> = text.lines().filter_map(parse).collect();
        lines.sort_by_key(|line| line.at);
        lines
    }

    /// Returns the first line and the last line of each step.
    fn steps(&self) -> HashMap<StepKey, (Line, Line)> {
        let mut steps: HashMap<StepKey, (Line, Line)> = HashMap::new();
        for line in self.lines() {
            let (_, last) = steps.entry(line.step.clone()).or_insert_with(|| (line.clone(), line.clone()));
            *last = line;
        }
        steps
    }

    fn jobs_at_work(&self) -> Vec<Uuid> {
        let now = self.clock.now();
        let is_at_work = |last: &Line| last.kind != LineKind::Ended && now - last.at < MAX_LINE_GAP;
        self.steps().into_values().filter(|(_, last)| is_at_work(last)).map(|(_, last)| last.job).collect()
    }
}

impl Work for Journal {
    fn steps_at_work(&self) -> usize {
        self.jobs_at_work().len()
    }

    /// No step of this campaign is long.
    fn jobs_at_work_for(&self, time: Micros) -> Vec<Uuid> {
        if time > 0 { Vec::new() } else { self.jobs_at_work() }
    }

    fn steps_done_since(&self, moment: Micros) -> usize {
        let is_done = |(first, last): &&(Line, Line)| first.at > moment && last.kind == LineKind::Ended;
        self.steps().values().filter(is_done).count()
    }
}

fn parse(line: &str) -> Option<Line> {
    let words: Vec<&str> = line.split(' ').collect();
    let [kind, pipeline, environment, deployment, stage, attempt, step, job, code, at] = words[..] else {
        return None;
    };
    let kind = match kind {
        "began" => LineKind::Began,
        "works" => LineKind::Works,
        "ended" => LineKind::Ended,
        _ => return None,
    };
    Some(Line {
        kind,
        pipeline: pipeline.to_owned(),
        environment: (environment != NOWHERE).then(|| environment.to_owned()),
        step: StepKey {
            deployment: parse_id(deployment)?,
            stage: stage.to_owned(),
            attempt: attempt.parse().ok()?,
            step: step.to_owned(),
        },
        job: parse_id(job)?,
        code: code.parse().ok()?,
        at: at.parse().ok()?,
    })
}

/// Returns the lines as reports, for the checks of deployments in general. A step that ends well has had its effect.
pub(crate) fn reports(lines: &[Line]) -> Vec<TargetReport> {
    let report = |line: &Line, kind| TargetReport {
        at: line.at,
        kind,
        environment: line.environment.as_ref().map(|name| format!("{}/{name}", line.pipeline)),
        fence: None,
        step: line.step.clone(),
        job: line.job,
        code: (kind == ReportKind::End).then_some(line.code),
        accepted: true,
    };
    let reports = lines.iter().flat_map(|line| match line.kind {
        LineKind::Began => vec![report(line, ReportKind::Begin)],
        LineKind::Works => vec![report(line, ReportKind::Tick)],
        LineKind::Ended if line.code == 0 => {
            vec![report(line, ReportKind::Apply), report(line, ReportKind::End)]
        }
        LineKind::Ended => vec![report(line, ReportKind::End)],
    });
    reports.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "ended shop staging dep_00000000-0000-0000-0000-000000000001 verify 2 step-1 \
                        job_00000000-0000-0000-0000-000000000002 7 1234567";

    #[test]
    fn a_line_is_parsed() {
        let line = parse(LINE).unwrap();
        assert_eq!(
            (line.kind, line.environment.as_deref(), line.code),
            (LineKind::Ended, Some("staging"), 7)
        );
        assert_eq!((line.step.attempt, line.at), (2, 1_234_567));
        assert_eq!(parse(&LINE.replace("staging", "-")).unwrap().environment, None);
        assert!(parse(&LINE[..LINE.len() - 10]).is_none(), "a part of a line");
    }

    #[test]
    fn a_step_that_ends_well_was_applied() {
        let failed = parse(LINE).unwrap();
        let kinds =
            |line: &Line| reports(std::slice::from_ref(line)).iter().map(|r| r.kind).collect::<Vec<_>>();
        assert_eq!(kinds(&failed), [ReportKind::End]);
        assert_eq!(kinds(&Line { code: 0, ..failed }), [ReportKind::Apply, ReportKind::End]);
    }
}
