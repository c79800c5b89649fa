//! Sends HTTP requests to a server with fixture files, and checks that the embedded page loads embedded files only.

use std::collections::HashMap;
use std::net::SocketAddr;

use axum::http::{HeaderValue, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::*;
use crate::file::Compressed;

static FIXTURE_FILES: &[File] = &[
    File {
        path: PAGE_FILE,
        content_type: "text/html",
        etag: "W/\"page\"",
        plain: b"the plain page",
        compressed: Some(Compressed { brotli: b"as brotli", gzip: b"with gzip" }),
    },
    File {
        path: "/immutable/font-1a.woff2",
        content_type: "font/woff2",
        etag: "W/\"font\"",
        plain: b"font",
        compressed: None,
    },
];

struct Server {
    address: SocketAddr,
    /// The task that serves. It is aborted when this is dropped at the end of a test.
    _serving: JoinSet<std::io::Result<()>>,
}

struct Response {
    status: StatusCode,
    headers: HashMap<String, String>,
    body: String,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, routes(FIXTURE_FILES)).await });
        Self { address, _serving: serving }
    }

    async fn send(&self, request: &str, headers: &str) -> Response {
        let mut connection = TcpStream::connect(self.address).await.unwrap();
        let request = format!("{request} HTTP/1.1\r\nhost: greenroom\r\nconnection: close\r\n{headers}\r\n");
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut received = String::new();
        connection.read_to_string(&mut received).await.unwrap();
        let (head, body) = received.split_once("\r\n\r\n").unwrap();
        let (status, fields) = head.split_once("\r\n").unwrap();
        let headers = fields.lines().filter_map(|line| line.split_once(": "));
        Response {
            status: status.split(' ').nth(1).unwrap().parse().unwrap(),
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            body: body.to_owned(),
        }
    }
}

impl Response {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

#[tokio::test]
async fn a_file_is_sent_in_the_preferred_encoding() {
    let server = Server::start().await;
    for (accepted, encoding, body) in [
        ("accept-encoding: gzip, br\r\n", Some("br"), "as brotli"),
        ("accept-encoding: gzip\r\n", Some("gzip"), "with gzip"),
        ("", None, "the plain page"),
    ] {
        let response = server.send("GET /index.html", accepted).await;
        assert_eq!((response.status, response.body.as_str()), (StatusCode::OK, body));
        assert_eq!(response.header("content-encoding"), encoding);
        assert_eq!(response.header("content-length"), Some(body.len().to_string().as_str()));
        assert_eq!(response.header("vary"), Some("accept-encoding"));
        assert_eq!(response.header("content-type"), Some("text/html"));
        assert_eq!(response.header("etag"), Some("W/\"page\""));
        assert_eq!(response.header("cache-control"), Some("no-cache"));
    }
}

#[tokio::test]
async fn a_file_with_a_hash_in_its_name_may_be_kept() {
    let server = Server::start().await;
    let request = "GET /immutable/font-1a.woff2";
    for (condition, status) in
        [("", StatusCode::OK), ("if-none-match: \"font\"\r\n", StatusCode::NOT_MODIFIED)]
    {
        let response = server.send(request, &format!("accept-encoding: br\r\n{condition}")).await;
        assert_eq!(response.status, status);
        assert_eq!(response.header("cache-control"), Some("public, max-age=31536000, immutable"));
        assert_eq!((response.header("content-encoding"), response.header("vary")), (None, None));
    }
}

#[tokio::test]
async fn a_client_that_has_the_file_gets_no_body() {
    let server = Server::start().await;
    let response =
        server.send("GET /index.html", "accept-encoding: br\r\nif-none-match: W/\"page\"\r\n").await;
    assert_eq!((response.status, response.body.as_str()), (StatusCode::NOT_MODIFIED, ""));
    assert_eq!(
        (response.header("etag"), response.header("vary")),
        (Some("W/\"page\""), Some("accept-encoding"))
    );
    assert_eq!(response.header("content-encoding"), None);
    let changed = server.send("GET /index.html", "if-none-match: \"old\"\r\n").await;
    assert_eq!((changed.status, changed.body.as_str()), (StatusCode::OK, "the plain page"));
}

#[tokio::test]
async fn head_gets_the_headers_alone_and_other_methods_are_rejected() {
    let server = Server::start().await;
    let head = server.send("HEAD /index.html", "accept-encoding: gzip\r\n").await;
    assert_eq!((head.status, head.body.as_str()), (StatusCode::OK, ""));
    assert_eq!((head.header("content-length"), head.header("content-encoding")), (Some("9"), Some("gzip")));
    for method in ["POST", "DELETE", "BREW"] {
        let rejected = server.send(&format!("{method} /index.html"), "content-length: 0\r\n").await;
        assert_eq!(rejected.status, StatusCode::METHOD_NOT_ALLOWED, "{method}");
        assert_eq!(rejected.header("allow"), Some("GET,HEAD"), "{method}");
    }
}

#[tokio::test]
async fn every_address_of_a_page_gets_the_page() {
    let server = Server::start().await;
    for address in ["/", "/o", "/o/acme/pipelines/shop", "/sign-in", "/welcome", "/setup", "/me", "/dev/ui"] {
        assert_eq!(server.send(&format!("GET {address}"), "").await.body, "the plain page", "{address}");
    }
    for address in ["/oo", "/immutable/other.js", "/index.html/", "/me/x"] {
        assert_eq!(
            server.send(&format!("GET {address}"), "").await.status,
            StatusCode::NOT_FOUND,
            "{address}"
        );
    }
}

#[test]
fn a_browser_gets_the_page_for_an_address_without_one_and_a_program_does_not() {
    let request = |method: Method, accept: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        headers.insert(IF_NONE_MATCH, HeaderValue::from_static("W/\"page\""));
        missing_page_of(FIXTURE_FILES, &method, &headers)
    };
    let page = request(Method::GET, "application/xml;q=0.9, text/html").unwrap();
    assert_eq!(page.status(), StatusCode::NOT_FOUND);
    assert_eq!(page.headers()["content-type"], "text/html");
    for (method, accept) in
        [(Method::GET, "*/*"), (Method::GET, "application/json"), (Method::POST, "text/html")]
    {
        assert!(request(method, accept).is_none(), "{accept}");
    }
    assert!(missing_page_of(&[], &Method::GET, &HeaderMap::new()).is_none());
}

/// Checks nothing if the program was built without the dashboard: then no file is embedded.
#[test]
fn what_the_embedded_page_loads_is_embedded() {
    let Some(page) = FILES.iter().find(|file| file.path == PAGE_FILE) else {
        assert!(FILES.is_empty());
        return;
    };
    let text = str::from_utf8(page.plain).unwrap();
    let loaded = text.split(['"', '\'']).filter(|text| text.starts_with('/') && text.contains('.'));
    let missing: Vec<&str> = loaded.filter(|path| !FILES.iter().any(|file| file.path == *path)).collect();
    assert!(missing.is_empty() && text.contains("/immutable/"), "missing: {missing:?} in\n{text}");
    for file in FILES.iter().filter(|file| file.plain.len() > 1_000 && file.content_type.starts_with("text/"))
    {
        let Compressed { brotli, gzip } = file.compressed.as_ref().unwrap();
        assert!(brotli.len() < file.plain.len() && gzip.len() < file.plain.len(), "{}", file.path);
    }
}
