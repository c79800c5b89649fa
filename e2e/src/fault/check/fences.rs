//! L1: a fence is assigned once. L2: of two grants, the later one in real time has the higher fence.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::check::{Evidence, short};
use crate::fault::clock::Micros;
use crate::fault::finding::Finding;
use crate::fault::history::Environment;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut findings = unique(evidence);
    findings.extend(in_order(evidence));
    findings
}

fn unique(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut owners: HashMap<(Environment, i64), Uuid> = HashMap::new();
    let mut fences: HashMap<Uuid, i64> = HashMap::new();
    let mut findings = Vec::new();
    let mut assigned = |environment: Environment, session: Uuid, fence: i64| {
        let owner = *owners.entry((environment, fence)).or_insert(session);
        let own = *fences.entry(session).or_insert(fence);
        if owner != session {
            let text = format!(
                "environment {environment}: fence {fence} was assigned to {} and to {}",
                short(owner),
                short(session)
            );
            findings.push(Finding::new("L1", text));
        }
        if own != fence {
            let text = format!("environment {environment}: {} has fences {own} and {fence}", short(session));
            findings.push(Finding::new("L1", text));
        }
    };
    for row in &evidence.ledger.sessions {
        row.fence.inspect(|fence| assigned(row.environment, row.id, *fence));
    }
    for op in evidence.ops {
        let Some(response) = op.ok() else { continue };
        if let (Some(environment), Some(view)) = (op.environment, &response.session)
            && let Some(fence) = view.fence
        {
            assigned(environment, view.id, fence);
        }
        for (environment, lock) in &response.locks {
            lock.held.inspect(|held| assigned(*environment, held.session, held.fence));
        }
    }
    findings.dedup();
    findings
}

struct Grant {
    invoked: Micros,
    returned: Micros,
    fence: i64,
    number: u64,
}

fn in_order(evidence: &Evidence<'_>) -> Vec<Finding> {
    let mut grants: HashMap<Environment, Vec<Grant>> = HashMap::new();
    for op in evidence.ops.iter().filter(|op| op.kind.is_claim()) {
        let fence = op.ok().and_then(|response| response.session).and_then(|view| view.fence);
        let (Some(fence), Some(environment)) = (fence, op.environment) else { continue };
        // The grant that a repetition reports may have been made by any of the attempts.
        let invoked = evidence.requests.get(&op.request).map_or(op.invoked, |first| first.invoked);
        let grant = Grant { invoked, returned: op.returned, fence, number: op.number };
        grants.entry(environment).or_default().push(grant);
    }
    grants.values_mut().flat_map(|grants| out_of_order(grants)).collect()
}

fn out_of_order(grants: &mut [Grant]) -> Vec<Finding> {
    let mut returns: Vec<(Micros, i64, u64)> =
        grants.iter().map(|grant| (grant.returned, grant.fence, grant.number)).collect();
    returns.sort_unstable();
    grants.sort_by_key(|grant| grant.invoked);
    let (mut returns, mut highest) = (returns.into_iter().peekable(), (0, 0));
    let mut findings = Vec::new();
    for grant in grants.iter() {
        while let Some((_, fence, number)) = returns.next_if(|(returned, ..)| *returned < grant.invoked) {
            highest = highest.max((fence, number));
        }
        if grant.fence < highest.0 {
            let text = format!(
                "op {} was granted fence {} after op {} had returned with {}",
                grant.number, grant.fence, highest.1, highest.0
            );
            findings.push(Finding::new("L2", text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{Sample, id};
    use crate::fault::history::Kind;

    #[test]
    fn a_fence_is_assigned_once_and_in_order() {
        let mut sample = Sample::default();
        sample.granted(Kind::Claim, 0, 10, (id(1), 1));
        sample.granted(Kind::Force, 20, 30, (id(2), 3));
        sample.session(id(1), 1, Some(1), (5, 25));
        assert_eq!(sample.found(check), Vec::<&str>::new());
        sample.granted(Kind::Claim, 40, 50, (id(3), 3));
        assert_eq!(sample.found(check), ["L1"]);
    }

    #[test]
    fn a_later_grant_with_a_lower_fence_is_out_of_order() {
        let mut sample = Sample::default();
        sample.granted(Kind::Claim, 0, 10, (id(1), 5));
        // Concurrent with the first: either may be the earlier one.
        sample.granted(Kind::Force, 9, 30, (id(2), 3));
        assert_eq!(sample.found(check), Vec::<&str>::new());
        sample.granted(Kind::Claim, 11, 12, (id(3), 4));
        assert_eq!(sample.found(check), ["L2"]);
    }

    #[test]
    fn a_session_has_one_fence() {
        let mut sample = Sample::default();
        sample.granted(Kind::Claim, 0, 10, (id(1), 1));
        sample.session(id(1), 1, Some(2), (5, 25));
        assert_eq!(sample.found(check), ["L1"]);
    }
}
