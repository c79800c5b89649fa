//! Each call, in both dialects.

use greenroom_recording_forge::RecordedStatus;
use greenroom_worker::forge::{
    ComparedCommit, ForgeError, NewStatus, PullRequestState, StatusState, VERIFIED_CONTEXT,
};

use super::{BRANCH, COMMIT, DIALECTS, NEW, recorded, start};

#[tokio::test]
async fn a_pull_request_is_opened_as_a_draft_and_found_again() {
    for dialect in DIALECTS {
        let (forge, client) = start(dialect).await;
        assert_eq!(client.pull_requests_of(BRANCH).await.unwrap(), [], "{dialect:?}");
        let opened = client.open(&NEW).await.unwrap();
        assert_eq!(opened.state, PullRequestState::Open);
        assert!(opened.is_draft, "{dialect:?}");
        assert_eq!((opened.head_commit.as_str(), opened.base.as_str()), (COMMIT, "main"));
        assert!(opened.url.starts_with(&forge.repository()), "{}", opened.url);
        assert_eq!(client.pull_requests_of(BRANCH).await.unwrap(), std::slice::from_ref(&opened));
        let recorded = forge.state().pull_requests.clone();
        assert_eq!(recorded.len(), 1);
        assert!(recorded[0].is_draft && recorded[0].title.ends_with(NEW.title));
        assert_eq!(recorded[0].body, NEW.body);
        for (is_merged, expected) in [(true, PullRequestState::Merged), (false, PullRequestState::Closed)] {
            forge.state().close(BRANCH, is_merged);
            assert_eq!(client.pull_requests_of(BRANCH).await.unwrap()[0].state, expected, "{dialect:?}");
            forge.state().pull_requests[0].is_open = true;
        }
        let calls: Vec<String> = forge.state().requests.iter().map(|call| call.method.clone()).collect();
        assert_eq!(calls.iter().filter(|method| *method == "POST").count(), 1);
    }
}

/// A fork can have a branch of the same name.
#[tokio::test]
async fn pull_requests_of_forks_and_other_branches_are_left_out() {
    for dialect in DIALECTS {
        let (forge, client) = start(dialect).await;
        {
            let mut state = forge.state();
            state.ignores_head = true;
            let mut fork = recorded(BRANCH, COMMIT);
            fork.head_owner = "mallory".to_owned();
            state.add(fork).unwrap();
            for number in 0..80 {
                state.add(recorded(&format!("other-{number}"), COMMIT)).unwrap();
            }
        }
        assert_eq!(client.pull_requests_of(BRANCH).await.unwrap(), [], "{dialect:?}");
        // It is found behind pages of others, by a forge that does not filter.
        assert_eq!(client.pull_requests_of("other-0").await.unwrap().len(), 1, "{dialect:?}");
    }
}

#[tokio::test]
async fn a_list_has_a_bounded_number_of_pages() {
    for dialect in DIALECTS {
        let (forge, client) = start(dialect).await;
        {
            let mut state = forge.state();
            state.ignores_head = true;
            for number in 0..2000 {
                let mut ended = recorded(BRANCH, COMMIT);
                ended.is_open = false;
                ended.base = format!("base-{number}");
                state.add(ended).unwrap();
            }
        }
        let found = client.pull_requests_of(BRANCH).await.unwrap();
        assert!(found.len() <= 900, "{dialect:?}: {}", found.len());
        assert!(forge.state().requests.len() <= 30);
    }
}

#[tokio::test]
async fn a_comparison_is_bounded_and_its_texts_are_clean() {
    for dialect in DIALECTS {
        let (forge, client) = start(dialect).await;
        {
            let mut state = forge.state();
            state.commits = (0..120).map(|n| (format!("{n:040x}"), format!("Title {n}\n\nBody"))).collect();
            state.commits[0].1 = "\u{1b}[31mred\u{202e} title".to_owned();
            state.files = (0..400).map(|n| format!("db/{n}.sql")).collect();
        }
        let comparison = client.compare("main", COMMIT).await.unwrap();
        assert_eq!(comparison.total_commits, 120, "{dialect:?}");
        assert_eq!(comparison.commits.len(), 100);
        let first = ComparedCommit { id: format!("{:040x}", 0), title: "[31mred title".to_owned() };
        assert_eq!(comparison.commits[0], first, "{dialect:?}");
        assert_eq!(comparison.commits[1].title, "Title 1");
        assert_eq!(comparison.files.len(), 300);
        let compared = forge.state().requests[0].path.clone();
        assert!(compared.ends_with(&format!("/compare/main...{COMMIT}")), "{compared}");
    }
}

#[tokio::test]
async fn a_status_and_branches() {
    for dialect in DIALECTS {
        let (forge, client) = start(dialect).await;
        let status = NewStatus {
            commit: COMMIT,
            context: VERIFIED_CONTEXT,
            state: StatusState::Success,
            url: Some("https://greenroom.test/fixes/1"),
            description: &"ä".repeat(200),
        };
        client.status(&status).await.unwrap();
        let expected = RecordedStatus {
            commit: COMMIT.to_owned(),
            context: "greenroom/verified".to_owned(),
            state: "success".to_owned(),
            url: status.url.unwrap().to_owned(),
            description: "ä".repeat(140),
        };
        assert_eq!(forge.state().statuses, [expected], "{dialect:?}");
        assert_eq!(client.branch_head(BRANCH).await.unwrap().as_deref(), Some(COMMIT));
        assert_eq!(client.branch_head("gone").await.unwrap(), None);
        assert_eq!(client.default_branch().await.unwrap(), "main");
        for name in ["../../other/repo", "a/../b", "x?y", "-x", ""] {
            let refused = client.branch_head(name).await;
            assert!(matches!(refused, Err(ForgeError::Input(_))), "{name}");
        }
        let requested = NewStatus { commit: "../../../user", ..status };
        assert!(matches!(client.status(&requested).await, Err(ForgeError::Input(_))));
    }
}
