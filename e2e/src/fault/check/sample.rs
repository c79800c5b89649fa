//! Hand-made histories for the checker's tests, all in environment 0. Times are in microseconds.

use std::collections::HashSet;

use uuid::Uuid;

use crate::fault::check::{Evidence, People};
use crate::fault::clock::Micros;
use crate::fault::finding::Finding;
use crate::fault::history::{
    Barred, HeldView, Kind, LockView, Op, Outcome, Refused, Response, SessionView, Status,
};
use crate::fault::ledger::{DeploymentRow, EnvironmentRow, EventRow, Ledger, ReadPosition, SessionRow};
use crate::fault::target::Write;

pub(super) const OWNER: Uuid = Uuid::from_u128(100);
pub(super) const OTHER: Uuid = Uuid::from_u128(101);

pub(super) fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

pub(super) struct Sample {
    ops: Vec<Op>,
    writes: Vec<Write>,
    ledger: Ledger,
    barred: Vec<Barred>,
    forcers: HashSet<Uuid>,
}

impl Default for Sample {
    fn default() -> Self {
        let since = ReadPosition { sequences: vec![0], ..ReadPosition::default() };
        let ledger = Ledger { since, ..Ledger::default() };
        Self { ops: Vec::new(), writes: Vec::new(), ledger, barred: Vec::new(), forcers: HashSet::new() }
    }
}

impl Sample {
    /// Returns the properties that a check finds violated.
    pub(super) fn found(&self, check: fn(&Evidence<'_>) -> Vec<Finding>) -> Vec<&'static str> {
        let no_maintainers = HashSet::new();
        let people = People { maintainers: &no_maintainers, forcers: &self.forcers, barred: &self.barred };
        let evidence = Evidence::new(&self.ops, &self.writes, &self.ledger, people);
        check(&evidence).into_iter().map(|finding| finding.property).collect()
    }

    fn op(&mut self, kind: Kind, (invoked, returned): (Micros, Micros), outcome: Outcome) -> &mut Op {
        let number = self.ops.len() as u64 + 1;
        self.ops.push(Op {
            number,
            request: number,
            client: 0,
            server: 0,
            user: OWNER,
            kind,
            environment: Some(0),
            session: None,
            deployment: None,
            invoked,
            returned,
            outcome,
        });
        let last = self.ops.len() - 1;
        &mut self.ops[last]
    }

    fn response(session: Uuid, status: Status, fence: Option<i64>, expires_at: Option<Micros>) -> Response {
        let session = Some(SessionView { id: session, status, fence, expires_at });
        Response { session, ..Response::default() }
    }

    pub(super) fn granted(&mut self, kind: Kind, invoked: Micros, returned: Micros, grant: (Uuid, i64)) {
        self.granted_until(kind, invoked, returned, grant, returned);
    }

    pub(super) fn granted_until(
        &mut self,
        kind: Kind,
        invoked: Micros,
        returned: Micros,
        (session, fence): (Uuid, i64),
        until: Micros,
    ) {
        let response = Self::response(session, Status::Active, Some(fence), Some(until));
        self.op(kind, (invoked, returned), Outcome::Ok(Box::new(response)));
    }

    pub(super) fn granted_over(
        &mut self,
        invoked: Micros,
        returned: Micros,
        (session, fence): (Uuid, i64),
        displaced: Uuid,
    ) {
        let mut response = Self::response(session, Status::Active, Some(fence), Some(returned));
        response.displaced = Some(displaced);
        self.op(Kind::Force, (invoked, returned), Outcome::Ok(Box::new(response)));
    }

    pub(super) fn renewed(
        &mut self,
        invoked: Micros,
        returned: Micros,
        (session, fence): (Uuid, i64),
        until: Micros,
    ) {
        let response = Self::response(session, Status::Active, Some(fence), Some(until));
        self.op(Kind::Renew, (invoked, returned), Outcome::Ok(Box::new(response))).session = Some(session);
    }

    pub(super) fn shown(
        &mut self,
        kind: Kind,
        invoked: Micros,
        returned: Micros,
        session: Uuid,
        status: Status,
        fence: Option<i64>,
    ) {
        let response = Self::response(session, status, fence, None);
        self.op(kind, (invoked, returned), Outcome::Ok(Box::new(response))).session = Some(session);
    }

    pub(super) fn lock_read(&mut self, invoked: Micros, returned: Micros, held: Option<(Uuid, i64)>) {
        let held = held.map(|(session, fence)| HeldView { session, fence, expires_at: returned });
        let response = Response { locks: vec![(0, LockView { held })], ..Response::default() };
        self.op(Kind::GetEnvironment, (invoked, returned), Outcome::Ok(Box::new(response)));
    }

    pub(super) fn refused(
        &mut self,
        kind: Kind,
        invoked: Micros,
        returned: Micros,
        (status, code): (u16, &str),
    ) {
        let refused = Refused { status, code: code.to_owned(), lock: None };
        self.op(kind, (invoked, returned), Outcome::Refused(Box::new(refused)));
    }

    pub(super) fn refused_in(
        &mut self,
        kind: Kind,
        invoked: Micros,
        returned: Micros,
        session: Uuid,
        code: &str,
    ) {
        let refused = Refused { status: 409, code: code.to_owned(), lock: None };
        self.op(kind, (invoked, returned), Outcome::Refused(Box::new(refused))).session = Some(session);
    }

    /// Returns the number of the request.
    pub(super) fn unknown(&mut self, kind: Kind, invoked: Micros, returned: Micros) -> u64 {
        self.unknown_because(kind, invoked, returned, "timeout")
    }

    pub(super) fn unknown_because(
        &mut self,
        kind: Kind,
        invoked: Micros,
        returned: Micros,
        reason: &'static str,
    ) -> u64 {
        self.op(kind, (invoked, returned), Outcome::Unknown(reason)).number
    }

    pub(super) fn repeated(&mut self, request: u64, invoked: Micros, returned: Micros, grant: (Uuid, i64)) {
        let response = Self::response(grant.0, Status::Active, Some(grant.1), Some(returned));
        self.op(Kind::Claim, (invoked, returned), Outcome::Ok(Box::new(response))).request = request;
    }

    /// This user could definitely not hold in this interval. The change was requested right before it and
    /// reverted right after it.
    pub(super) fn barred(&mut self, user: Uuid, since: Micros, until: Micros) {
        self.barred.push(Barred {
            user,
            by: OTHER,
            requested: since - 10,
            since,
            until,
            restored: until + 10,
        });
    }

    pub(super) fn may_force(&mut self, user: Uuid) {
        self.forcers.insert(user);
    }

    /// Sets the deployment of the last operation.
    pub(super) fn set_deployment(&mut self, deployment: Uuid) {
        self.ops.last_mut().unwrap().deployment = Some(deployment);
    }

    /// Marks the session as ended by the system, not by a user.
    pub(super) fn ended_by_system(&mut self, id: Uuid, status: Status) {
        let row = self.row(id);
        (row.status, row.ended_by) = (status, None);
    }

    /// Sets the user of the last operation.
    pub(super) fn set_user(&mut self, user: Uuid) {
        self.ops.last_mut().unwrap().user = user;
    }

    /// A session that claimed and expired.
    pub(super) fn session(&mut self, id: Uuid, ordinal: i64, fence: Option<i64>, held: (Micros, Micros)) {
        self.ledger.sessions.push(SessionRow {
            environment: 0,
            id,
            ordinal,
            status: Status::Expired,
            user: OWNER,
            request: 0,
            fence,
            queued_at: None,
            claimed_at: Some(held.0),
            ended_at: Some(held.1),
            ended_by: None,
            override_session: None,
        });
    }

    fn row(&mut self, id: Uuid) -> &mut SessionRow {
        self.ledger.sessions.iter_mut().find(|row| row.id == id).unwrap()
    }

    /// A session that waited and left.
    pub(super) fn waited(&mut self, id: Uuid, ordinal: i64, from: Micros, to: Micros) {
        self.session(id, ordinal, None, (from, to));
        let row = self.row(id);
        (row.queued_at, row.claimed_at, row.status) = (Some(from), None, Status::Canceled);
    }

    pub(super) fn waited_and_held(
        &mut self,
        id: Uuid,
        ordinal: i64,
        fence: Option<i64>,
        (queued, claimed, ended): (Micros, Micros, Micros),
    ) {
        self.session(id, ordinal, fence, (claimed, ended));
        self.row(id).queued_at = Some(queued);
    }

    pub(super) fn requested(&mut self, id: Uuid, request: u64) {
        self.row(id).request = request;
    }

    pub(super) fn ended(&mut self, id: Uuid, status: Status, by: Uuid) {
        let row = self.row(id);
        (row.status, row.ended_by) = (status, Some(by));
    }

    pub(super) fn overridden(&mut self, id: Uuid, by: Uuid) {
        let row = self.row(id);
        (row.status, row.override_session, row.ended_by) = (Status::Overridden, Some(by), Some(OWNER));
    }

    pub(super) fn still_active(&mut self, id: Uuid) {
        let row = self.row(id);
        (row.status, row.ended_at) = (Status::Active, None);
    }

    pub(super) fn event(
        &mut self,
        sequence: i64,
        time: Micros,
        kind: &str,
        session: Uuid,
        fence: Option<i64>,
    ) {
        self.ledger.events.push(EventRow {
            organization: 0,
            sequence,
            time,
            kind: kind.to_owned(),
            session: Some(session),
            deployment: None,
            environment: Some(0),
            fence,
            actor: Some(OWNER),
        });
    }

    pub(super) fn deployment(&mut self, session: Uuid, fence: i64, created_at: Micros) {
        let id = id(1_000 + self.ledger.deployments.len() as u128);
        let commit = format!("{:010x}", 50 + self.ledger.deployments.len());
        self.ledger.deployments.push(DeploymentRow { id, session, fence, commit, created_at });
    }

    /// Gives all deployments the same commit.
    pub(super) fn same_commit(&mut self) {
        self.ledger.deployments.iter_mut().for_each(|row| row.commit = "0000000032".to_owned());
    }

    pub(super) fn environment(&mut self, fence: i64, sessions: i64) {
        self.ledger.environments.push(EnvironmentRow {
            environment: 0,
            fence,
            sessions,
            held: false,
            waiters: 0,
        });
    }

    pub(super) fn still_held(&mut self) {
        self.ledger.environments.iter_mut().for_each(|row| row.held = true);
    }

    pub(super) fn write(&mut self, (session, fence): (Uuid, i64), at: Micros, accepted: bool) {
        self.writes.push(Write { environment: 0, session, fence, at, accepted });
    }
}
