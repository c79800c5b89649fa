//! Request bodies: malformed, invalid and hostile ones.

use std::time::{Duration, Instant};

use reqwest::{Method, Response};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::requests::{problem, success, wrong_field};
use crate::support::database::TestDatabase;
use crate::support::{COOKIE, Caller, DEFINITION, TestServer};
use crate::wire::Wire;

const MIB: usize = 1024 * 1024;

async fn create(server: &TestServer, caller: &Caller, body: impl Into<reqwest::Body>) -> Response {
    let request =
        server.request(caller, Method::POST, "/pipelines").header("content-type", "application/json");
    request.body(body).send().await.unwrap()
}

#[tokio::test]
async fn malformed_bodies_and_invalid_fields_have_different_codes() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let deep = format!("{{\"name\": {}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let open = "[".repeat(100_000);
    let objects = "{\"name\":".repeat(10_000);
    for broken in [
        "{",
        "{]",
        "nonsense",
        "{\"name\": }",
        "{\"name\": \"x\", \"definition\": \"\"} trailing",
        "{'name': 'x'}",
        "{\"name\": \"x\",}",
        "{\"name\": \"\\ud800\"}",
        "{\"name\": \"\\udc00\\ud800\"}",
        "{\"name\": \"\\ud800x\"}",
        "{\"name\": \"\\x00\"}",
        "{\"name\": \"a\u{0}b\"}",
        "{\"name\": 1e999}",
        "{\"name\": NaN}",
        "\u{feff}{}",
        "\u{0}",
        &deep,
        &open,
        &objects,
    ] {
        let started = Instant::now();
        problem(create(&server, &owner, broken.to_owned()).await, 400, "malformed_json").await;
        assert!(started.elapsed() < Duration::from_secs(2), "{}", &broken[..broken.len().min(40)]);
    }
    let not_utf8 = [b"{\"name\": \"".as_slice(), &[0xff, 0xfe], b"\"}"].concat();
    problem(create(&server, &owner, not_utf8).await, 400, "malformed_json").await;
    for wrong in ["[]", "[{\"name\": \"x\"}]", "null", "true", "1", "\"text\""] {
        wrong_field(create(&server, &owner, wrong).await, "").await;
    }
    let digits = format!("{{\"name\": {}}}", "9".repeat(100_000));
    assert!([400, 422].contains(&create(&server, &owner, digits).await.status().as_u16()));
    assert_eq!(server.get(&owner, "/pipelines").await["pagination"]["total"], 0);
    server.end().await;
}

#[tokio::test]
async fn invalid_fields_are_named() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    let valid = json!({ "name": "x", "definition": DEFINITION });
    for (field, value) in [
        ("name", json!(1)),
        ("name", json!(null)),
        ("name", json!("")),
        ("name", json!("a\u{0}b")),
        ("name", json!("a\nb")),
        ("name", json!("x".repeat(101))),
        ("slug", json!("Not A Slug")),
        ("slug", json!("a\u{0}")),
        ("slug", json!(["a"])),
        ("repository", json!("")),
        ("repository", json!("git\u{0}")),
        ("repository", json!("r".repeat(501))),
        ("definition", json!(null)),
        ("definition", json!({ "stages": {} })),
        ("nmae", json!("x")),
        ("__proto__", json!({})),
        ("a/b~c", json!(1)),
    ] {
        let mut body = valid.clone();
        body[field] = value;
        let pointer = format!("/{}", field.replace('~', "~0").replace('/', "~1"));
        wrong_field(create(&server, &owner, body.to_string()).await, &pointer).await;
    }
    let twice = "{\"name\": \"x\", \"name\": \"y\", \"definition\": \"\"}";
    let twice = problem(create(&server, &owner, twice).await, 422, "invalid_request").await;
    assert!(twice.to_string().contains("duplicate field `name`"), "{twice}");
    wrong_field(create(&server, &owner, "{\"name\": \"x\"}").await, "/definition").await;
    wrong_field(create(&server, &owner, "").await, "/name").await;
    for (path, body, pointer) in [
        ("/pipelines/web/stop", json!({ "mode": "kill" }), "/mode"),
        ("/pipelines/web/stop", json!({ "reason": "a\u{0}b" }), "/reason"),
        ("/pipelines/web/stop", json!({ "reason": "x".repeat(501) }), "/reason"),
        ("/members", json!({ "email": "a\u{0}@b.test", "name": "x", "role": "viewer" }), "/email"),
        ("/members", json!({ "email": "a@b.test", "name": "x\u{0}", "role": "viewer" }), "/name"),
        ("/members", json!({ "email": "a@b.test", "name": "x", "role": "king" }), "/role"),
        ("/api-tokens", json!({ "name": "\u{0}" }), "/name"),
        ("/api-tokens", json!({ "name": "x", "expiresAt": "tomorrow" }), "/expiresAt"),
    ] {
        let response = server.request(&owner, Method::POST, path).json(&body).send().await.unwrap();
        wrong_field(response, pointer).await;
    }
    server.end().await;
}

#[tokio::test]
async fn a_nul_in_a_definition_is_rejected() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    // Raw, as an escape of YAML, in a key, and in a comment, where only the text contains it.
    for run in ["'a\u{0}b'", "\"a\\0b\"", "\"a\\x00b\"", "\"a\\u0000b\"", "'true' # \u{0}"] {
        let definition = DEFINITION.replace("'true'", run);
        let body = json!({ "name": "Nul", "definition": definition }).to_string();
        problem(create(&server, &owner, body).await, 422, "invalid_definition").await;
        let report = server.post(&owner, "/pipelines/validate", json!({ "definition": definition })).await;
        assert_eq!(report["valid"], false, "{run:?}");
    }
    for definition in ["variables: {\"A\\0\": b}\n", "variables: {A: \"\\0\"}\n", "name: \"\\0\"\n"] {
        let body = json!({ "name": "Nul", "definition": format!("{definition}{DEFINITION}") }).to_string();
        problem(create(&server, &owner, body).await, 422, "invalid_definition").await;
    }
    server.end().await;
}

#[tokio::test]
async fn a_missing_body_is_an_empty_object_and_other_content_types_are_rejected() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    let browser = server.browser(&owner.user).await;
    let stop = || server.request(&owner, Method::POST, "/pipelines/web/stop");
    let stopped = success(stop().send().await.unwrap(), 200).await;
    assert_eq!(stopped["data"]["stop"]["mode"], "drain");
    for kind in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=utf-8",
    ] {
        success(stop().header("content-type", kind).body("{}").send().await.unwrap(), 200).await;
    }
    // An empty body counts as no body, whatever its content type.
    success(stop().header("content-type", "text/plain").send().await.unwrap(), 200).await;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/json",
        "",
        "ä",
        "application/jsonp",
        "application/json-seq",
    ] {
        // Another site's page can send a form with the cookie of a browser, but no `Authorization`.
        let cookie = format!("__Host-greenroom={}", browser.trim_start_matches(COOKIE));
        let from_page = server.client.post(format!("{}/organizations/acme/pipelines/web/stop", server.base));
        let from_page = from_page.header("cookie", cookie).header("origin", &server.origin);
        let response = from_page.header("content-type", kind.as_bytes()).body("{}").send().await.unwrap();
        problem(response, 415, "unsupported_media_type").await;
        // `curl --data` names the type of a form.
        success(stop().header("content-type", kind.as_bytes()).body("{}").send().await.unwrap(), 200).await;
    }
    server.end().await;
}

#[tokio::test]
async fn body_size_is_limited() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let member = |size: usize| {
        let body = json!({ "email": "a@b.test", "name": "x", "role": "viewer" }).to_string();
        server
            .request(&owner, Method::POST, "/members")
            .header("content-type", "application/json")
            .body(body.clone() + &" ".repeat(size - body.len()))
    };
    problem(member(257 * 1024).send().await.unwrap(), 413, "body_too_large").await;
    success(member(256 * 1024).send().await.unwrap(), 201).await;

    let definition = |size: usize| format!("{DEFINITION}#{}", "x".repeat(size - DEFINITION.len() - 1));
    let full = json!({ "name": "Full", "definition": definition(MIB) });
    let made = success(create(&server, &owner, full.to_string()).await, 201).await;
    let path = format!("/pipelines/{}/versions/1", made["data"]["id"].as_str().unwrap());
    assert_eq!(server.get(&owner, &path).await["data"]["definition"], full["definition"]);
    let over = json!({ "name": "Over", "definition": definition(MIB + 1) });
    problem(create(&server, &owner, over.to_string()).await, 422, "invalid_definition").await;
    let report =
        server.post(&owner, "/pipelines/validate", json!({ "definition": definition(MIB + 1) })).await;
    assert_eq!(report["valid"], false);
    let far = json!({ "name": "Far", "definition": definition(3 * MIB) });
    problem(create(&server, &owner, far.to_string()).await, 413, "body_too_large").await;
    server.end().await;
}

fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn an_endless_body_is_aborted() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let mut wire = Wire::connect(&server).await;
    let head = format!(
        "POST /api/v1/organizations/acme/pipelines HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        owner.token
    );
    wire.write(head).await.unwrap();
    let before = resident_kib();
    let (mut reader, mut writer) = wire.0.split();
    let (mut response, mut sent) = (Vec::new(), 0);
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let write = async {
        while sent < 1024 * MIB && writer.write_all(chunk.as_bytes()).await.is_ok() {
            sent += chunk.len();
        }
    };
    // The server may reset the connection of a client that keeps sending.
    let (_, _) = tokio::join!(write, reader.read_to_end(&mut response));
    let response = String::from_utf8_lossy(&response);
    assert!(response.starts_with("HTTP/1.1 413"), "{response}");
    assert!(response.contains("body_too_large"), "{response}");
    assert!(sent < 32 * MIB, "{sent} bytes were taken");
    assert!(resident_kib().saturating_sub(before) < 64 * 1024, "{} KiB more", resident_kib() - before);
    assert_eq!(server.get(&owner, "/pipelines").await["pagination"]["total"], 0);
    server.end().await;
}
