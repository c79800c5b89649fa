//! Responses that must never be sent: internal errors, and rejections that none of our requests deserves.

use crate::fault::check::Evidence;
use crate::fault::clock::{Micros, SECOND};
use crate::fault::finding::Finding;
use crate::fault::history::{Kind, Op, Outcome};

/// Nothing was changed because of a lack of capacity or time. Any request may receive these codes.
const TRANSIENT: [&str; 3] = ["busy", "overloaded", "idempotency_in_progress"];
const SESSION_END_CODES: [&str; 5] =
    ["session_queued", "session_overridden", "session_released", "session_expired", "session_canceled"];

/// Servers cache the role and rights of a token for up to this time.
const RIGHTS_CACHE_TTL: Micros = SECOND;

/// The responses to a user who is no longer a member, or whose role does not permit the request.
const NO_RIGHTS_CODES: [&str; 4] = ["unauthenticated", "forbidden", "scope_missing", "not_found"];

pub(super) fn check(evidence: &Evidence<'_>) -> Vec<Finding> {
    evidence.ops.iter().filter_map(|op| unexpected(evidence, op)).collect()
}

fn unexpected(evidence: &Evidence<'_>, op: &Op) -> Option<Finding> {
    let since = op.invoked - RIGHTS_CACHE_TTL;
    let barred = || evidence.people.may_have_been_barred(op.user, since, op.returned);
    let text = match &op.outcome {
        Outcome::Unknown(reason) if reason.starts_with("unreadable") || *reason == "internal" => {
            (*reason).to_owned()
        }
        Outcome::Refused(refused) if NO_RIGHTS_CODES.contains(&refused.code.as_str()) && barred() => {
            return None;
        }
        Outcome::Refused(refused) if !expected(op.kind, &refused.code) => {
            let restored = evidence.people.since_restored(op.user, op.invoked);
            let restored = restored.map(|micros| format!(", {micros} µs after rights were restored"));
            format!("{} {}{}", refused.status, refused.code, restored.unwrap_or_default())
        }
        _ => return None,
    };
    Some(Finding::new("internal", format!("{} got: {text}", op.name())))
}

fn expected(kind: Kind, code: &str) -> bool {
    let own: &[&str] = match kind {
        Kind::Claim => &["environment_locked", "held_by_you", "template_full"],
        Kind::Queue => &["template_full", "already_queued", "queue_full"],
        // An agent's token may not force.
        Kind::Force => &["forbidden", "template_full"],
        Kind::Renew | Kind::Deploy | Kind::Heartbeat => &["forbidden"],
        // Ending others' sessions is not within an agent's scopes.
        Kind::Release => &["forbidden", "scope_missing"],
        Kind::RequestHandover => &["handover_pending", "held_by_you", "already_queued"],
        Kind::AcceptHandover | Kind::DeclineHandover => &["handover_not_requested"],
        Kind::Cancel => &["forbidden", "scope_missing"],
        // The template has no environment of this name until the first claim.
        Kind::GetEnvironment => &["not_found"],
        Kind::GetSession | Kind::List => &[],
    };
    let handover = matches!(kind, Kind::RequestHandover | Kind::AcceptHandover | Kind::DeclineHandover);
    let acts = handover || matches!(kind, Kind::Renew | Kind::Deploy | Kind::Heartbeat);
    TRANSIENT.contains(&code) || own.contains(&code) || (acts && SESSION_END_CODES.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::check::sample::{OWNER, Sample};

    #[test]
    fn an_internal_error_is_a_finding() {
        let mut sample = Sample::default();
        sample.refused(Kind::Renew, 0, 10, (409, "session_expired"));
        sample.refused(Kind::Claim, 0, 10, (503, "busy"));
        assert_eq!(sample.found(check), Vec::<&str>::new());
        sample.unknown_because(Kind::Claim, 0, 10, "internal");
        sample.refused(Kind::List, 0, 10, (401, "unauthenticated"));
        assert_eq!(sample.found(check), ["internal", "internal"]);
    }

    #[test]
    fn a_request_without_rights_may_be_rejected() {
        let mut sample = Sample::default();
        sample.refused(Kind::Claim, 20, 30, (401, "unauthenticated"));
        assert_eq!(sample.found(check), ["internal"]);
        sample.barred(OWNER, 25, 28);
        assert_eq!(sample.found(check), Vec::<&str>::new());
        sample.refused(Kind::Claim, 50_000_000, 60_000_000, (401, "unauthenticated"));
        assert_eq!(sample.found(check), ["internal"]);
    }
}
