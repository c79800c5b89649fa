//! The system under test and its invariants: the rows that a store would have, changed only by the domain's functions.

use std::collections::{BTreeMap, BTreeSet};

use greenroom_domain::approval::{
    Actor, Approval, ApprovalCommand, ApprovalStatus, Ballot, Behind, Confirmation, Excluded, Gate, Person,
    SubjectDigest, Vote, VoteChoice, check_vote, decide, excluded,
};
use greenroom_domain::definition::ApprovalRule;
use greenroom_domain::deployment::{
    AdvanceInput, Blocker, Deployment, DeploymentStatus, Freeze, GateDecision, JobStatus, PlannedStage,
    Purpose, Reason, RetryInput, Stage, StageStatus, Timing, advance, retry_stage,
};
use greenroom_domain::id::UserId;
use greenroom_domain::role::Role;
use greenroom_domain::token::TokenKind;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

const TICK: i64 = 60;
const TIMEOUT: SignedDuration = SignedDuration::from_secs(2 * TICK);
const VALID_FOR: SignedDuration = SignedDuration::from_secs(2 * TICK);
const TIMING: Timing = Timing {
    lease_grace: SignedDuration::from_secs(30),
    max_queue_time: SignedDuration::from_secs(100 * TICK),
    timeout_slack: SignedDuration::from_secs(60),
};

pub const VOTERS: u8 = 4;
/// The groups of each person. The first one has started the deployment.
const GROUPS: [&[&str]; VOTERS as usize] = [&["a", "b"], &["a", "b"], &["a"], &["b"]];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct System {
    pub now: u8,
    pub deployment: Deployment,
    /// The approval that the stage refers to.
    pub record: Option<Record>,
    /// How the one before it ended.
    pub replaced: Option<ApprovalStatus>,
    /// What the stage would do now.
    pub subject: u8,
    pub is_frozen: bool,
    pub removed: BTreeSet<u8>,
    pub changes: u8,
    pub freezes: u8,
    pub retries: u8,
    pub openings: u8,
    pub starts: u8,
    pub refused_starts: u8,
    /// The violated invariant.
    pub broken: Option<&'static str>,
}

/// A row of `approvals` with its votes, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    pub approval: Approval,
    votes: Vec<StoredVote>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StoredVote {
    person: u8,
    choice: VoteChoice,
    is_withdrawn: bool,
}

fn user(person: u8) -> UserId {
    UserId::from(Uuid::from_u128(u128::from(person) + 1))
}

fn digest(subject: u8) -> SubjectDigest {
    format!("sha256:{subject:064x}").parse().unwrap()
}

fn rules() -> Vec<ApprovalRule> {
    let rule = |group: &str| ApprovalRule {
        groups: vec![group.to_owned()],
        roles: Vec::new(),
        users: Vec::new(),
        count: 1,
    };
    vec![rule("a"), rule("b")]
}

fn excluded_people() -> Excluded {
    let behind = Behind {
        started_by: Actor::Person(user(0)),
        retried_by: Vec::new(),
        session_holder: None,
        pusher: None,
        on_behalf_of: None,
        authors: Vec::new(),
        created_at: Timestamp::UNIX_EPOCH,
        accepted_at: Timestamp::UNIX_EPOCH,
        last_success: None,
    };
    excluded(&behind, false)
}

impl System {
    pub fn new() -> Self {
        let stage = PlannedStage {
            key: "release".to_owned(),
            name: "release".to_owned(),
            needs: Vec::new(),
            pool: "default".to_owned(),
            planned_outcome: None,
            detail: None,
            needs_approval: true,
            environment: Some("production".to_owned()),
            timeout_seconds: 600,
            max_attempts: 1,
            backoff_seconds: 10,
        };
        let mut deployment = Deployment {
            status: DeploymentStatus::Queued,
            reason: None,
            cancel: None,
            ends_by: None,
            stages: Vec::new(),
        };
        deployment.apply_plan(Ok(&[stage]));
        Self {
            now: 0,
            deployment,
            record: None,
            replaced: None,
            subject: 0,
            is_frozen: false,
            removed: BTreeSet::new(),
            changes: 0,
            freezes: 0,
            retries: 0,
            openings: 0,
            starts: 0,
            refused_starts: 0,
            broken: None,
        }
    }

    pub fn stage(&self) -> &Stage {
        &self.deployment.stages[0]
    }

    /// Whether the approval of the stage has this status.
    pub fn is(&self, status: ApprovalStatus) -> bool {
        self.record.as_ref().is_some_and(|record| record.approval.status == status)
    }

    fn time(&self) -> Timestamp {
        Timestamp::from_second(i64::from(self.now) * TICK).unwrap()
    }

    fn person(&self, person: u8) -> Person {
        Person {
            id: user(person),
            email: None,
            role: (!self.removed.contains(&person)).then_some(Role::Developer),
            groups: GROUPS[usize::from(person)].iter().map(|name| (*name).to_owned()).collect(),
            is_service: false,
            confirmation: Confirmation::Confirmed,
        }
    }

    /// Casts a vote, in a transaction that locks the approval alone.
    pub fn vote(&mut self, person: u8, choice: VoteChoice, for_another: bool) -> Option<()> {
        let (now, voter) = (self.time(), self.person(person));
        let record = self.record.as_mut()?;
        let read = if for_another { digest(99) } else { record.approval.subject_digest.clone() };
        let ballot = Ballot { voter: &voter, token: TokenKind::User, subject: Some(&read) };
        check_vote(&record.approval, &rules(), &excluded_people(), ballot, now).ok()?;
        if for_another || person == 0 {
            self.broken = Some("a vote was accepted that must not be");
        }
        record.votes.retain(|vote| vote.person != person);
        record.votes.push(StoredVote { person, choice, is_withdrawn: false });
        self.decide();
        Some(())
    }

    pub fn withdraw(&mut self, person: u8) -> Option<()> {
        let now = self.time();
        let record = self.record.as_mut()?;
        if record.approval.status.is_final() || record.approval.expires_at <= now {
            return None;
        }
        let vote = record.votes.iter_mut().find(|vote| vote.person == person && !vote.is_withdrawn)?;
        vote.is_withdrawn = true;
        self.decide();
        Some(())
    }

    fn decide(&mut self) {
        let (now, subject) = (self.time(), self.record.as_ref().unwrap().approval.subject_digest.clone());
        let votes: Vec<Vote> = self
            .record
            .iter()
            .flat_map(|record| &record.votes)
            .map(|vote| Vote {
                voter: self.person(vote.person),
                choice: vote.choice,
                subject_digest: subject.clone(),
                is_withdrawn: vote.is_withdrawn,
            })
            .collect();
        let decision = decide(&rules(), &votes, &excluded_people(), &subject);
        self.apply(&ApprovalCommand::Decide(decision), now);
        let record = self.record.as_ref().unwrap();
        if record.approval.status == ApprovalStatus::Approved && !self.is_met(record) {
            self.broken = Some("approved without enough people");
        }
    }

    /// Whether two different people have approved, one for each rule, by trying all pairs.
    fn is_met(&self, record: &Record) -> bool {
        let approves = |person: u8, group: &str| {
            let counts = |vote: &StoredVote| {
                vote.person == person && vote.choice == VoteChoice::Approve && !vote.is_withdrawn
            };
            person != 0
                && !self.removed.contains(&person)
                && GROUPS[usize::from(person)].contains(&group)
                && record.votes.iter().any(counts)
        };
        let pairs = (0..VOTERS).flat_map(|one| (0..VOTERS).map(move |other| (one, other)));
        pairs.into_iter().any(|(one, other)| one != other && approves(one, "a") && approves(other, "b"))
    }

    fn apply(&mut self, command: &ApprovalCommand<'_>, now: Timestamp) {
        let record = self.record.as_mut().unwrap();
        let before = record.approval.clone();
        record.approval.apply(command, now);
        if before.status.is_final() && record.approval != before {
            self.broken = Some("decided twice");
        }
    }

    pub fn remove(&mut self, person: u8) -> Option<()> {
        (self.removed.is_empty() && self.removed.insert(person)).then_some(())
    }

    pub fn freeze(&mut self) {
        self.is_frozen = !self.is_frozen;
        self.freezes += 1;
    }

    /// What an earlier stage produces does not change while this one is at work.
    pub fn change(&mut self) -> Option<()> {
        let is_at_work = matches!(self.stage().status, StageStatus::Running);
        (!is_at_work).then(|| {
            self.subject += 1;
            self.changes += 1;
        })
    }

    fn environment(&self) -> GateDecision {
        if self.is_frozen {
            let until = Timestamp::from_second(1_000 * TICK).unwrap();
            GateDecision::Wait(Blocker::Freeze(Freeze {
                id: Uuid::from_u128(1).into(),
                name: String::new(),
                until,
            }))
        } else {
            GateDecision::Begin
        }
    }

    /// Advances the deployment, and writes what that changes.
    pub fn advance(&mut self) {
        let (now, present) = (self.time(), digest(self.subject));
        let mut deployment = self.deployment.clone();
        deployment.stages[0].gate =
            self.record.as_ref().map_or(Gate::Wanted, |record| record.approval.gate());
        let input = AdvanceInput {
            can_start: true,
            has_room: true,
            is_held: false,
            gates: BTreeMap::from([("production".to_owned(), self.environment())]),
            gates_without_freezes: BTreeMap::new(),
            subjects: BTreeMap::from([("release".to_owned(), present.clone())]),
        };
        self.deployment = advance(deployment, &input, TIMING, now);
        let (status, gate) = (self.stage().status, self.stage().gate.clone());
        let was_open = self.record.as_ref().is_some_and(|record| !record.approval.status.is_final());
        let is_open = matches!(gate, Gate::Pending { .. });
        if was_open && !is_open {
            self.apply(&ApprovalCommand::Compare(&present), now);
            if self.record.as_ref().unwrap().approval.gate() != gate {
                self.broken = Some("the stage and its approval disagree");
            }
        }
        if gate == Gate::Wanted && status == StageStatus::Waiting {
            self.replaced = self.record.as_ref().map(|record| record.approval.status);
            let approval = Approval::open(present.clone(), TIMEOUT, VALID_FOR, now);
            self.deployment.stages[0].gate = approval.gate();
            self.record = Some(Record { approval, votes: Vec::new() });
            self.openings += 1;
        }
        if status == StageStatus::Queued && !self.may_start() {
            self.broken = Some("queued without a valid approval");
        }
    }

    /// Whether there is an approval of the present subject that is valid, and production is open.
    fn may_start(&self) -> bool {
        let Some(record) = &self.record else { return false };
        let approval = &record.approval;
        approval.status == ApprovalStatus::Approved
            && approval.subject_digest == digest(self.subject)
            && approval.valid_until.is_some_and(|until| self.time() < until)
            && !self.is_frozen
    }

    pub fn take(&mut self) -> Option<()> {
        let job = self.deployment.stages[0].job.as_mut().filter(|job| job.status == JobStatus::Queued)?;
        job.status = JobStatus::Running;
        self.deployment.stages[0].status = StageStatus::Running;
        Some(())
    }

    /// Starts the first step, in a transaction that checks again.
    pub fn start(&mut self) -> Option<()> {
        let (now, present) = (self.time(), digest(self.subject));
        let gate = self.record.as_ref()?.approval.gate();
        let permits = gate.permits(Some(&present), now) && self.environment() == GateDecision::Begin;
        let job = self.deployment.stages[0].job.as_mut();
        let job = job.filter(|job| job.status == JobStatus::Running && !job.step_started)?;
        if permits {
            job.step_started = true;
            self.starts += 1;
            if !self.may_start() {
                self.broken = Some("started without a valid approval");
            }
        } else {
            job.status = JobStatus::Errored;
            job.reason = Some(Reason::GateClosed);
            self.refused_starts = 1;
        }
        Some(())
    }

    pub fn fail(&mut self) -> Option<()> {
        let job = self.deployment.stages[0].job.as_mut();
        let job = job.filter(|job| job.status == JobStatus::Running && job.step_started)?;
        job.status = JobStatus::Failed;
        Some(())
    }

    pub fn retry(&mut self) -> Option<()> {
        let input = RetryInput {
            purpose: Purpose::Pipeline,
            session_ended: false,
            is_expired: false,
            newer: None,
            allows_older: false,
        };
        retry_stage(&mut self.deployment, "release", input).ok()?;
        if self.stage().gate == Gate::Wanted {
            self.replaced = self.record.take().map(|record| record.approval.status);
        }
        self.retries += 1;
        Some(())
    }
}
