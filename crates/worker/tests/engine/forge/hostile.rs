//! What a forge, or who poses as one, can send.

use std::time::Duration;

use greenroom_domain::forge::{ForgeKind, ForgeRepository};
use greenroom_outbound::{AllowList, OutboundClient, OutboundError};
use greenroom_recording_forge::{AppliesTo, Dialect, Fault, RecordingForge, TOKEN};
use greenroom_worker::forge::{Connection, ForgeError, connect};

use super::{BRANCH, COMMIT, DIALECTS, NEW, client_for, local_client, requester, secret, start};

fn body(status: u16, body: impl Into<Vec<u8>>) -> Fault {
    Fault::Respond(status, Vec::new(), body.into())
}

#[tokio::test]
async fn a_forge_on_this_machine_is_called_only_if_the_operator_allows_it() {
    let (forge, _) = start(Dialect::Github).await;
    let repository = ForgeRepository::parse(&forge.repository()).unwrap();
    let port = forge.address().rsplit_once(':').unwrap().1.to_owned();
    for host in ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "127.1"] {
        for scheme in ["http", "https"] {
            let address = format!("{scheme}://{host}:{port}");
            let connection = Connection {
                kind: ForgeKind::Github,
                address: &address,
                repository: &repository,
                token: secret(TOKEN),
            };
            let client = connect(&OutboundClient::new(AllowList::new([])), &requester(), connection).unwrap();
            let error = client.default_branch().await.unwrap_err();
            assert!(matches!(error, ForgeError::Outbound(OutboundError::Address(_))), "{address}: {error}");
        }
    }
    assert_eq!(forge.state().requests, []);
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_gets_no_credential() {
    for dialect in DIALECTS {
        let (forge, client) = start(dialect).await;
        let other = RecordingForge::start(dialect).await;
        for (status, target) in [(301, other.address()), (302, other.address()), (307, other.address())] {
            let header = ("location".to_owned(), format!("{target}/repos/acme/shop"));
            forge.set_fault(AppliesTo::Everything, Fault::Respond(status, vec![header], Vec::new()));
            let error = client.default_branch().await.unwrap_err();
            assert!(matches!(error, ForgeError::Outbound(OutboundError::Redirect(_))), "{error}");
            let error = client.open(&NEW).await.unwrap_err();
            assert!(matches!(error, ForgeError::Outbound(OutboundError::Redirect(_))), "{error}");
        }
        assert_eq!(other.state().requests, [], "{dialect:?}");
        assert!(forge.state().requests.iter().all(|request| request.has_token));
    }
}

#[tokio::test]
async fn huge_and_broken_responses_are_errors() {
    for dialect in DIALECTS {
        let (forge, client) = start(dialect).await;
        forge.set_fault(AppliesTo::Everything, body(200, vec![b' '; 20 << 20]));
        let error = client.compare("main", COMMIT).await.unwrap_err();
        assert!(matches!(error, ForgeError::Outbound(OutboundError::TooLarge(_))), "{error}");
        let error = client.pull_requests_of(BRANCH).await.unwrap_err();
        assert!(matches!(error, ForgeError::Outbound(OutboundError::TooLarge(_))), "{error}");
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for broken in ["", "null", "[]", "{}", "<html>", "\"x\"", "{\"default_branch\":1}", deep.as_str()] {
            forge.set_fault(AppliesTo::Everything, body(200, broken));
            let error = client.default_branch().await.unwrap_err();
            assert!(matches!(error, ForgeError::Unexpected(_)), "{broken:.20}: {error}");
            assert!(matches!(client.open(&NEW).await, Err(ForgeError::Unexpected(_))), "{broken:.20}");
        }
        // A page that is full each time.
        let page = body(200, format!("[{}]", vec!["{}"; 30].join(",")));
        forge.set_fault(AppliesTo::Everything, page);
        assert!(matches!(client.pull_requests_of(BRANCH).await, Err(ForgeError::Unexpected(_))));
    }
}

/// Addresses and ids become links and parts of URLs.
#[tokio::test]
async fn fields_that_are_not_what_they_should_be_are_errors() {
    let (forge, client) = start(Dialect::Github).await;
    let pull_request = |url: &str, sha: &str, state: &str| {
        serde_json::json!([{
            "number": 1, "html_url": url, "state": state, "draft": true, "merged_at": null,
            "head": { "ref": BRANCH, "sha": sha, "repo": { "full_name": "acme/shop" } },
            "base": { "ref": "main" },
        }])
    };
    let good = "https://github.test/acme/shop/pull/1";
    for (response, is_good) in [
        (pull_request(good, COMMIT, "open"), true),
        (pull_request("javascript:alert(1)", COMMIT, "open"), false),
        (pull_request("https://github.test/\u{202e}", COMMIT, "open"), false),
        (pull_request(&format!("https://github.test/{TOKEN}"), COMMIT, "open"), false),
        (pull_request(good, "../../../user", "open"), false),
        (pull_request(good, COMMIT, "draft"), false),
    ] {
        forge.set_fault(AppliesTo::Everything, body(200, response.to_string()));
        let listed = client.pull_requests_of(BRANCH).await;
        assert_eq!(listed.is_ok(), is_good, "{response}: {listed:?}");
    }
    forge.set_fault(AppliesTo::Everything, body(200, r#"{"default_branch":"../../x"}"#));
    assert!(client.default_branch().await.is_err());
}

#[tokio::test]
async fn refusals_are_typed_and_their_messages_clean() {
    for dialect in DIALECTS {
        let (forge, client) = start(dialect).await;
        let long = format!("\u{1b}[31m{TOKEN}\n{}", "x".repeat(100_000));
        for (status, message, expected) in [
            (401, "Bad credentials", "the forge rejects the credential (401)"),
            (404, "Not Found", "the forge does not have it, or the credential does not show it (404)"),
            (403, "no\nway", "the forge does not allow this with the credential (403): no way"),
            (410, "gone", "the forge refuses the request (410): gone"),
            (503, "", "the forge failed (503)"),
        ] {
            forge.set_fault(AppliesTo::Everything, Fault::message(status, message));
            assert_eq!(client.default_branch().await.unwrap_err().to_string(), expected, "{dialect:?}");
        }
        forge.set_fault(AppliesTo::Everything, Fault::message(500, &long));
        let error = client.default_branch().await.unwrap_err();
        for text in [error.to_string(), format!("{error:?}")] {
            assert!(text.len() < 400 && !text.contains(TOKEN) && !text.contains('\u{1b}'), "{text}");
        }
        let limited = |header: &str, value: &str| {
            Fault::Respond(403, vec![(header.to_owned(), value.to_owned())], Vec::new())
        };
        for (fault, expected) in [
            (Fault::rate_limited(7), 7),
            (Fault::rate_limited(u64::MAX), 3600),
            (limited("retry-after", "30"), 30),
            (limited("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"), 60),
            (limited("x-ratelimit-remaining", "0"), 60),
        ] {
            forge.set_fault(AppliesTo::Everything, fault);
            match client.default_branch().await.unwrap_err() {
                ForgeError::RateLimited { retry_after } => {
                    assert_eq!(retry_after, Duration::from_secs(expected));
                }
                error => panic!("{error}"),
            }
        }
    }
}

#[tokio::test]
async fn a_wrong_token_is_rejected_and_no_error_shows_it() {
    for dialect in DIALECTS {
        let (forge, _) = start(dialect).await;
        let client = client_for(&forge, "another-token");
        let error = client.default_branch().await.unwrap_err();
        assert!(matches!(error, ForgeError::Unauthorized) && !error.is_temporary());
        assert!(!format!("{error:?}").contains("another-token"));
        let repository = ForgeRepository::parse(&forge.repository()).unwrap();
        for token in ["", "a\nx-evil: 1", "a b", "ä"] {
            let connection = Connection {
                kind: ForgeKind::Github,
                address: &forge.address(),
                repository: &repository,
                token: secret(token),
            };
            assert!(connect(&local_client(), &requester(), connection).is_err(), "{token:?}");
        }
    }
}
