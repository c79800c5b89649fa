//! L17: work in a session belongs to its holder. Only the holder, or a maintainer whose token may force, can
//! cancel it.

use std::collections::HashMap;

use uuid::Uuid;

use crate::fault::check::{Evidence, short};
use crate::fault::finding::Finding;
use crate::fault::history::Kind;

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    let owners: HashMap<Uuid, Uuid> = (evidence.ledger.deployments.iter())
        .filter_map(|row| Some((row.id, evidence.sessions.get(&row.session)?.user)))
        .collect();
    let done = evidence.ops.iter().filter(|op| op.kind == Kind::Cancel && op.ok().is_some());
    done.filter_map(|op| {
        let deployment = op.deployment?;
        let owner = owners.get(&deployment)?;
        let allowed = *owner == op.user || evidence.people.maintainers.contains(&op.user);
        (!allowed).then(|| {
            let text = format!("{} canceled {} in a session of another user", op.name(), short(deployment));
            Finding::new("L17", text)
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{OTHER, Sample, id};
    use crate::fault::history::Status;

    fn canceled() -> Sample {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (0, 50));
        sample.deployment(id(1), 1, 5);
        sample.shown(Kind::Cancel, 6, 7, id(1), Status::Active, None);
        sample.set_deployment(id(1_000));
        sample
    }

    #[test]
    fn the_holder_cancels_its_own() {
        assert_eq!(canceled().found(check), Vec::<&str>::new());
    }

    #[test]
    fn another_user_does_not() {
        let mut sample = canceled();
        sample.set_user(OTHER);
        assert_eq!(sample.found(check), ["L17"]);
    }

    #[test]
    fn a_rejected_request_has_no_effect() {
        let mut sample = Sample::default();
        sample.session(id(1), 1, Some(1), (0, 50));
        sample.deployment(id(1), 1, 5);
        sample.refused(Kind::Cancel, 6, 7, (403, "forbidden"));
        sample.set_deployment(id(1_000));
        sample.set_user(OTHER);
        assert_eq!(sample.found(check), Vec::<&str>::new());
    }
}
