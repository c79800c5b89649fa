//! No spelling of a path bypasses authorization.

use crate::changes::Changes;
use crate::fixture::PermissionFixture;
use crate::operations::ROWS;
use crate::raw_http::request;
use crate::support::database::TestDatabase;

/// Returns spellings of a path below `/api/v1` that a proxy, a router or a file system might treat as that
/// path.
fn spellings(path: &str) -> Vec<Vec<u8>> {
    let full = format!("/api/v1{path}");
    let mut spellings: Vec<Vec<u8>> = Vec::new();
    let mut add = |text: String| spellings.push(text.into_bytes());
    for tail in [
        "",
        "/",
        "//",
        ";x",
        ";/",
        "/;x",
        "/.",
        "/..",
        "/../",
        "/%2e",
        "/%2e%2e",
        "/%2e%2e/",
        "%2f",
        "%5c",
        "%00",
        "%00.json",
        "%ff",
        "%c0%af",
        "%20",
        "%09",
        "%0a",
        "%0d%0a",
        ".json",
        "?",
        "?x=1",
        "?orgId=acme",
        "%3f",
        "%23",
        "%",
        "%2",
        "%zz",
        "*",
        "~",
    ] {
        add(format!("{full}{tail}"));
    }
    // Replacements for each slash.
    for (at, _) in full.match_indices('/') {
        let (head, tail) = (&full[..at], &full[at + 1..]);
        for slash in [
            "//",
            "///",
            "%2f",
            "%2F",
            "%252f",
            "%5c",
            "\\",
            "/./",
            "/%2e/",
            "/x/../",
            "/x/%2e%2e/",
            "/x/..%2f",
            "/..;/",
            ";x/",
            "/;/",
            "%00/",
            "/%00",
            "%ff/",
            "%c0%af",
            "%e0%80%af",
            "/globex/../",
        ] {
            add(format!("{head}{slash}{tail}"));
        }
    }
    for around in [
        format!("/api/v1/../v1{path}"),
        format!("/api/v1/%2e%2e/v1{path}"),
        format!("/api/v1/..%2fv1{path}"),
        format!("/api/../api/v1{path}"),
        format!("/api/v1/me/..{path}"),
        format!("/api/v1/openapi.json/..{path}"),
        format!("/api/v1/schemas/pipeline-definition.json/../..{path}"),
        format!("/api/v1/schemas/..{path}"),
        format!("/docs/../api/v1{path}"),
        format!("/docs/..%2fapi%2fv1{path}"),
        format!("/docs/errors/..%2f..%2fapi%2fv1{path}"),
        format!("/livez/../api/v1{path}"),
        format!("/api/v2{path}"),
        format!("/api{path}"),
        path.to_owned(),
        format!("http://localhost/api/v1{path}"),
        format!("//localhost/api/v1{path}"),
        full.to_uppercase(),
        full.replace("/api/v1", "/API/V1"),
        full.replace("organizations", "Organizations"),
        full.replace("organizations", "%6frganizations"),
        full.replace("acme", "ACME"),
        full.replace("acme", "%61cme"),
        full.replace("acme", "%2561cme"),
        full.replace("acme", "acme,globex"),
        full.replace("acme", "globex,acme"),
        full.replace("acme", "globex%2f..%2facme"),
        full.replace("acme", "globex%00acme"),
        full.replace("acme", "acme%00"),
        full.replace("acme", "*"),
        full.replace("acme", "%25"),
        full.replace("acme", "_"),
        full.replace("acme", "-"),
    ] {
        add(around);
    }
    // Bytes that are not valid UTF-8.
    spellings.push([full.as_bytes(), b"\xff"].concat());
    spellings.push(full.replace("acme", "ac\u{130}me").into_bytes());
    spellings
}

#[tokio::test]
async fn no_spelling_of_a_path_bypasses_authorization() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let pipeline = fixture.server.pipeline(&fixture.owner, "Canary").await;
    let event = fixture.event("pipeline.created").await;
    let (owner, token) = (&fixture.owner, format!("Bearer {}", fixture.stranger.token));
    let canaries = [&pipeline, &event, &owner.user, &owner.organization, &owner.token_id];
    let canaries: Vec<&str> = canaries
        .iter()
        .map(|id| &id[4..])
        .chain(["owner@acme.test", "Canary", "canary", "\"acme\""])
        .collect();

    let addresses = [
        "/organizations/acme".to_owned(),
        format!("/organizations/{}", owner.organization),
        "/organizations/acme/members".to_owned(),
        format!("/organizations/acme/members/{}", owner.user),
        "/organizations/acme/api-tokens".to_owned(),
        format!("/organizations/acme/api-tokens/{}", owner.token_id),
        "/organizations/acme/pipelines".to_owned(),
        "/organizations/acme/pipelines/canary/versions/1".to_owned(),
        format!("/organizations/acme/events/{event}"),
        "/organizations/acme/events".to_owned(),
    ];
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for address in &addresses {
        // Otherwise there is nothing to disclose.
        let (status, text) = request(
            &fixture.server,
            "GET",
            format!("/api/v1{address}").as_bytes(),
            &[("authorization", &format!("Bearer {}", owner.token))],
        )
        .await;
        assert!(status == 200 && canaries.iter().any(|canary| text.contains(canary)), "{address}: {text}");

        for path in spellings(address) {
            for headers in [&[][..], &[("authorization", token.as_str())][..]] {
                let (status, text) = request(&fixture.server, "GET", &path, headers).await;
                let shows = canaries.iter().any(|canary| text.contains(canary));
                if shows || !(400..500).contains(&status) {
                    let (path, token) = (String::from_utf8_lossy(&path), !headers.is_empty());
                    wrong.push(format!("{path} (token: {token}): {text}"));
                }
                tried += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(tried > 1000, "{tried}");
    fixture.server.stop().await;
}

/// Odd paths of the own organization are client errors too, never server errors.
#[tokio::test]
async fn no_spelling_of_a_path_breaks_the_server() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    fixture.server.pipeline(&fixture.owner, "Canary").await;
    let token = format!("Bearer {}", fixture.owner.token);
    for address in ["/organizations/acme/pipelines/canary", "/organizations/acme/members/usr_1"] {
        for path in spellings(address) {
            for method in ["GET", "DELETE"] {
                // This path is meant to delete the record.
                if method == "DELETE" && !path.windows(3).any(|part| part == b"%00" || part == b"%ff") {
                    continue;
                }
                let (status, text) =
                    request(&fixture.server, method, &path, &[("authorization", &token)]).await;
                assert!((200..500).contains(&status), "{method} {}: {text}", String::from_utf8_lossy(&path));
            }
        }
    }
    fixture.server.stop().await;
}

/// Methods that axum handles by default.
#[tokio::test]
async fn other_methods_disclose_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let changes = Changes::watch(&pool).await;
    for row in ROWS.iter().filter(|row| row.path.contains("{orgId}")) {
        let path = format!("/api/v1{}", row.path("acme", "x"));
        for method in ["HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "GETX"] {
            let (status, text) = request(&fixture.server, method, path.as_bytes(), &[]).await;
            assert!((400..500).contains(&status), "{method} {path}: {text}");
        }
    }
    changes.assert_none().await;
    fixture.server.stop().await;
}
