//! Two organizations, people in them, and requests as a browser sends them.

use std::time::Duration;

use greenroom_app::browser_session::new_secret;
use greenroom_domain::text::Email;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::support::{Caller, TestServer, eventually};

/// A password that is accepted.
pub const PASSWORD: &str = "orbit-lantern-quartz-42";

pub struct SignInFixture {
    pub server: TestServer,
    /// The owners of `acme` and `globex`.
    pub acme: Caller,
    pub globex: Caller,
}

/// A browser: its session cookie, and where its pages come from.
#[derive(Clone, Debug, Default)]
pub struct Browser {
    pub cookie: Option<String>,
    /// Header fields instead of those of the dashboard's own pages.
    pub site: Option<Vec<(&'static str, String)>>,
}

impl Browser {
    pub fn with_cookie(cookie: &str) -> Self {
        Self { cookie: Some(cookie.to_owned()), site: None }
    }

    /// The same browser, with a page that sends these header fields.
    pub fn on_site(&self, fields: &[(&'static str, &str)]) -> Self {
        let fields = fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Self { site: Some(fields), ..self.clone() }
    }
}

impl SignInFixture {
    pub async fn new(pool: &PgPool) -> Self {
        Self::on(TestServer::start(pool).await).await
    }

    pub async fn on(server: TestServer) -> Self {
        let (acme, globex) = (server.organization("acme").await, server.organization("globex").await);
        Self { server, acme, globex }
    }

    /// Adds a member by e-mail address and returns the user's id.
    pub async fn add(&self, by: &Caller, email: &str, role: &str) -> String {
        let path = format!("/organizations/{}/members", by.organization);
        let body = json!({ "email": email, "name": "Some One", "role": role });
        let (status, added) = self.server.json(Method::POST, &path, &by.token, Some(body)).await;
        assert_eq!(status, StatusCode::CREATED, "{added}");
        added["data"]["userId"].as_str().unwrap().to_owned()
    }

    /// Requests a sign-in link for a member.
    pub async fn link(&self, by: &Caller, user: &str) -> (StatusCode, Value) {
        let path = format!("/organizations/{}/members/{user}/sign-in-link", by.organization);
        self.server.json(Method::POST, &path, &by.token, None).await
    }

    /// Makes a sign-in link for a member and returns its code.
    pub async fn code(&self, by: &Caller, user: &str) -> String {
        let (status, made) = self.link(by, user).await;
        assert_eq!(status, StatusCode::CREATED, "{made}");
        let url = made["data"]["url"].as_str().unwrap();
        url.split_once("/welcome#").unwrap().1.to_owned()
    }

    /// Makes a sign-in link as the operator and returns its code.
    pub async fn operator_code(&self, email: &str) -> String {
        let (secret, email) = (new_secret(), Email::new(email).unwrap());
        let store = &self.server.server.app.store;
        store.create_sign_in_link_for(&email, &secret.hash()).await.unwrap().unwrap();
        secret.reveal().to_owned()
    }

    /// Sends a request as a browser does.
    pub async fn send(&self, browser: &Browser, method: Method, path: &str, body: Option<Value>) -> Response {
        let mut request = self.server.client.request(method, format!("{}{path}", self.server.base));
        match &browser.site {
            None => {
                request =
                    request.header("origin", &self.server.origin).header("sec-fetch-site", "same-origin");
            }
            Some(fields) => {
                for (name, value) in fields {
                    request = request.header(*name, value);
                }
            }
        }
        if let Some(cookie) = &browser.cookie {
            request = request.header("cookie", format!("__Host-greenroom={cookie}"));
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        request.send().await.unwrap()
    }

    /// Sends a request and returns the status, and the code of a problem.
    pub async fn status(
        &self,
        browser: &Browser,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> (u16, String) {
        let response = self.send(browser, method, path, body).await;
        let status = response.status().as_u16();
        let body: Value = response.json().await.unwrap_or_default();
        (status, body["code"].as_str().unwrap_or_default().to_owned())
    }

    pub async fn use_link(&self, code: &str) -> Response {
        self.send(&Browser::default(), Method::POST, "/auth/link", Some(json!({ "code": code }))).await
    }

    /// Signs in with a link and returns the browser.
    pub async fn signed_in_with(&self, code: &str) -> Browser {
        let response = self.use_link(code).await;
        assert_eq!(response.status(), StatusCode::OK);
        Browser::with_cookie(&session_cookie(&response).unwrap())
    }

    /// Adds a member of `acme`, enrolls them with the owner's link, and returns user id and browser.
    pub async fn person(&self, email: &str, role: &str) -> (String, Browser) {
        let user = self.add(&self.acme, email, role).await;
        let code = self.code(&self.acme, &user).await;
        (user, self.signed_in_with(&code).await)
    }

    pub async fn sign_in(&self, email: &str, password: &str) -> Response {
        let body = json!({ "email": email, "password": password });
        self.send(&Browser::default(), Method::POST, "/auth/password", Some(body)).await
    }

    pub async fn set_password(&self, browser: &Browser, password: &str) {
        let body = json!({ "newPassword": password });
        let response = self.send(browser, Method::PUT, "/me/password", Some(body)).await;
        assert_eq!(response.status(), StatusCode::OK, "{}", response.text().await.unwrap());
    }

    /// Asserts that a browser is signed out on this server within a second.
    pub async fn is_signed_out(&self, browser: &Browser) {
        let signed_out = eventually(Duration::from_secs(1), async || {
            self.status(browser, Method::GET, "/me", None).await.0 == 401
        });
        assert!(signed_out.await, "still signed in");
        // A change is never decided by what a server has cached.
        let path = "/organizations/acme/pipelines";
        let body = json!({ "name": "X", "definition": crate::support::DEFINITION });
        assert_eq!(self.status(browser, Method::POST, path, Some(body)).await.0, 401);
    }

    pub async fn end(self) {
        self.server.server.stop(Duration::ZERO).await;
    }
}

/// Returns the value of the session cookie that a response sets.
pub fn session_cookie(response: &Response) -> Option<String> {
    let fields = response.headers().get_all("set-cookie").iter().map(|field| field.to_str().unwrap());
    let field = fields.into_iter().find_map(|field| field.strip_prefix("__Host-greenroom="))?;
    let value = field.split(';').next().unwrap();
    (!value.is_empty()).then(|| value.to_owned())
}
