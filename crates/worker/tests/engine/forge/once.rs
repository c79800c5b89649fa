//! A pull request is opened once, whatever the forge responds.

use std::time::Duration;

use greenroom_recording_forge::{AppliesTo, Dialect, Fault};
use greenroom_worker::forge::{ForgeError, PullRequestState, open_once};

use super::{BRANCH, COMMIT, DIALECTS, NEW, recorded, start};

#[tokio::test]
async fn a_second_call_finds_the_first_one() {
    for dialect in DIALECTS {
        let (forge, client) = start(dialect).await;
        let first = open_once(client.as_ref(), &NEW).await.unwrap();
        let second = open_once(client.as_ref(), &NEW).await.unwrap();
        assert!(first.is_new && !second.is_new);
        assert_eq!(first.pull_request, second.pull_request);
        // One that was closed or merged since is not opened again.
        for is_merged in [false, true] {
            forge.state().close(BRANCH, is_merged);
            let again = open_once(client.as_ref(), &NEW).await.unwrap();
            assert_eq!(again.pull_request.number, first.pull_request.number);
            assert_ne!(again.pull_request.state, PullRequestState::Open);
            forge.state().pull_requests[0].is_open = true;
        }
        assert_eq!(forge.state().most_of_one_head(), 1, "{dialect:?}");
    }
}

#[tokio::test]
async fn a_pull_request_that_the_forge_opened_before_it_failed_is_found() {
    for dialect in DIALECTS {
        let (forge, client) = start(dialect).await;
        forge.set_fault(AppliesTo::Writes, Fault::FailAfter);
        let opened = open_once(client.as_ref(), &NEW).await.unwrap();
        assert!(!opened.is_new);
        assert_eq!(opened.pull_request.number, 1);
        assert_eq!(forge.state().pull_requests.len(), 1, "{dialect:?}");
        // It fails for the list too: unclear, until a later call lists it.
        forge.state().pull_requests.clear();
        forge.set_fault(AppliesTo::Writes, Fault::FailAfter);
        assert!(open_once(client.as_ref(), &NEW).await.is_ok());
        forge.set_fault(AppliesTo::Everything, Fault::FailAfter);
        let failed = open_once(client.as_ref(), &NEW).await.unwrap_err();
        assert!(failed.is_unclear() && failed.is_temporary());
        forge.clear_fault();
        assert!(!open_once(client.as_ref(), &NEW).await.unwrap().is_new);
        assert_eq!(forge.state().most_of_one_head(), 1);
    }
}

#[tokio::test]
async fn concurrent_calls_open_one() {
    for dialect in DIALECTS {
        let (forge, client) = start(dialect).await;
        forge.set_fault(AppliesTo::Writes, Fault::SlowAfter(Duration::from_millis(50)));
        let calls = (0..8).map(|_| open_once(client.as_ref(), &NEW));
        let opened = futures_util::future::join_all(calls).await;
        let numbers: Vec<u64> =
            opened.into_iter().map(|opened| opened.unwrap().pull_request.number).collect();
        assert_eq!(numbers, [1; 8], "{dialect:?}");
        assert_eq!(forge.state().most_of_one_head(), 1);
    }
}

#[tokio::test]
async fn a_forge_that_did_nothing_leaves_an_error() {
    for dialect in DIALECTS {
        let (forge, client) = start(dialect).await;
        for (fault, is_temporary) in [
            (Fault::fail_before(), true),
            (Fault::rate_limited(7), true),
            (Fault::unauthorized(), false),
            (Fault::message(403, "no"), false),
            (Fault::message(422, "Draft pull requests are not supported in this repository."), false),
        ] {
            forge.set_fault(AppliesTo::Writes, fault.clone());
            let error = open_once(client.as_ref(), &NEW).await.unwrap_err();
            assert_eq!(error.is_temporary(), is_temporary, "{dialect:?} {fault:?}: {error}");
        }
        assert_eq!(forge.state().pull_requests, []);
    }
}

#[tokio::test]
async fn an_older_pull_request_of_the_branch_does_not_count() {
    for dialect in DIALECTS {
        let (forge, client) = start(dialect).await;
        let mut old = recorded(BRANCH, &"2".repeat(40));
        old.is_open = false;
        forge.state().add(old).unwrap();
        assert!(open_once(client.as_ref(), &NEW).await.unwrap().is_new, "{dialect:?}");
        // An open one counts, by any author and with any base.
        let mut other = recorded(BRANCH, COMMIT);
        other.base = "release".to_owned();
        forge.state().pull_requests.truncate(1);
        forge.state().add(other).unwrap();
        let found = open_once(client.as_ref(), &NEW).await.unwrap();
        assert_eq!((found.is_new, found.pull_request.base.as_str()), (false, "release"), "{dialect:?}");
    }
}

#[tokio::test]
async fn a_branch_that_does_not_exist_is_refused() {
    for dialect in DIALECTS {
        let (forge, client) = start(dialect).await;
        forge.state().branches.remove(BRANCH);
        let error = open_once(client.as_ref(), &NEW).await.unwrap_err();
        let is_refused = matches!(error, ForgeError::Conflict { .. } | ForgeError::NotFound);
        assert!(is_refused && !error.is_temporary(), "{dialect:?}: {error}");
        let reason = "the forge refuses the pull request (422): Validation Failed: head or base is invalid";
        assert_eq!(error.to_string() == reason, dialect == Dialect::Github, "{error}");
    }
}
