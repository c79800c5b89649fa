//! The hostile member: a viewer of the victim's organization, who makes as many tokens as the server permits.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::fault::overload::sample::Member;
use crate::fault::overload::stack::Stack;
use crate::parts::api::Api;

const EMAIL: &str = "viewer@victim.test";
/// How many tokens the member tries to make. A person may have 100.
const TRIED_TOKENS: usize = 150;

/// Adds the member to an organization, and makes the tokens.
pub(super) async fn make(stack: &Stack, api: &Api, owner: &str, slug: &str) -> anyhow::Result<Member> {
    let path = format!("/organizations/{slug}");
    let body = json!({ "email": EMAIL, "name": "Hostile viewer", "role": "viewer" });
    api.call_ok(Method::POST, &format!("{path}/members"), owner, Some(&body)).await?;
    let arguments = ["admin", "create-token", "--organization", slug, "--email", EMAIL, "--name", "first"];
    let first = stack.admin_json(&arguments).await?;
    let mut tokens: Vec<String> = first["token"].as_str().map(str::to_owned).into_iter().collect();
    for number in 1..TRIED_TOKENS {
        let body = json!({ "name": format!("token {number}") });
        let first = tokens.first().cloned().unwrap_or_default();
        let request = api.request(Method::POST, &format!("{path}/api-tokens"), &first).json(&body);
        let response = request.send().await?;
        if response.status() == StatusCode::CONFLICT {
            continue;
        }
        let made: Value = response.error_for_status()?.json().await?;
        tokens.extend(made["data"]["token"].as_str().map(str::to_owned));
    }
    Ok(Member { organization: slug.to_owned(), tokens })
}
