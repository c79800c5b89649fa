//! L7: a request that is repeated with its key is carried out once.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::check::{Evidence, short};
use crate::fault::finding::Finding;
use crate::fault::history::Kind;

/// The result of a request: a session with its fence, or a deployment.
type RequestResult = (Option<(Uuid, Option<i64>)>, Option<Uuid>);

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut responses: HashMap<u64, RequestResult> = HashMap::new();
    for op in evidence.ops.iter().filter(|op| op.kind.is_claim() || op.kind == Kind::Deploy) {
        let Some(response) = op.ok() else { continue };
        let own = (response.session.map(|view| (view.id, view.fence)), response.deployment);
        let first = responses.entry(op.request).or_insert(own);
        if *first != own {
            let text = format!("request {} returned {first:?} and {own:?}", op.request);
            findings.push(Finding::new("L7", text));
        }
    }
    let sessions = evidence.ledger.sessions.iter().map(|row| (row.request, row.id));
    findings.extend(duplicates("sessions", sessions));
    let commits = evidence.ledger.deployments.iter().filter_map(|row| {
        // The commit is the request's number.
        Some((u64::from_str_radix(&row.commit, 16).ok()?, row.id))
    });
    findings.extend(duplicates("deployments", commits));
    findings
}

fn duplicates(what: &str, made: impl Iterator<Item = (u64, Uuid)>) -> Vec<Finding> {
    let mut by_request: HashMap<u64, Uuid> = HashMap::new();
    let mut findings = Vec::new();
    for (request, id) in made.filter(|(request, _)| *request > 0) {
        if let Some(other) = by_request.insert(request, id) {
            let text = format!("request {request} created two {what}: {} and {}", short(other), short(id));
            findings.push(Finding::new("L7", text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{Sample, id};

    #[test]
    fn a_repetition_gets_the_same_grant() {
        let mut sample = Sample::default();
        let request = sample.unknown(Kind::Claim, 0, 10);
        sample.repeated(request, 20, 30, (id(1), 1));
        sample.repeated(request, 40, 50, (id(1), 1));
        sample.session(id(1), 1, Some(1), (5, 20));
        assert_eq!(sample.found(check), Vec::<&str>::new());
        sample.repeated(request, 60, 70, (id(2), 3));
        assert_eq!(sample.found(check), ["L7"]);
    }

    #[test]
    fn one_request_makes_one_session_and_one_deployment() {
        let mut sample = Sample::default();
        sample.session(id(1), 7, Some(1), (5, 20));
        sample.session(id(2), 8, Some(3), (20, 30));
        sample.requested(id(2), 1);
        sample.requested(id(1), 1);
        assert_eq!(sample.found(check), ["L7"]);
        let mut sample = Sample::default();
        sample.deployment(id(1), 1, 5);
        sample.deployment(id(1), 1, 5);
        sample.same_commit();
        assert_eq!(sample.found(check), ["L7"]);
    }
}
