//! The dialect of Forgejo and Gitea.

use serde_json::{Value, json};

use crate::github::status;
use crate::request::Request;
use crate::state::{RecordedPullRequest, State};
use crate::{OWNER, REPOSITORY};

/// Titles with this beginning are drafts.
const DRAFT_PREFIX: &str = "WIP:";

pub(crate) fn serve(state: &mut State, request: &Request) -> (u16, Value) {
    if !request.is_authorized("token") {
        return (401, json!({ "message": "invalid username, password or token" }));
    }
    let missing = (404, json!({ "message": "The target couldn't be found." }));
    let Some((method, segments)) = request.route("/api/v1") else { return missing };
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match (method, segments.as_slice()) {
        ("GET", []) => {
            (200, json!({ "full_name": format!("{OWNER}/{REPOSITORY}"), "default_branch": "main" }))
        }
        ("GET", ["branches", name]) => match state.branches.get(*name) {
            Some(commit) => (200, json!({ "name": name, "commit": { "id": commit } })),
            None => missing,
        },
        ("GET", ["compare", _]) => {
            let commit =
                |(id, title): &(String, String)| json!({ "sha": id, "commit": { "message": title } });
            let commits: Vec<Value> = state.commits.iter().rev().map(commit).collect();
            let files: Vec<Value> = state.files.iter().map(|path| json!({ "filename": path })).collect();
            (200, json!({ "total_commits": state.commits.len(), "commits": commits, "files": files }))
        }
        ("GET", ["pulls"]) => (200, list(state, request)),
        ("POST", ["pulls"]) => open(state, request),
        ("POST", ["statuses", commit]) => {
            state.statuses.push(status(request, commit));
            (201, json!({ "status": request.text("state"), "context": request.text("context") }))
        }
        _ => missing,
    }
}

fn list(state: &State, request: &Request) -> Value {
    let wanted = request.query("state").unwrap_or_else(|| "open".to_owned());
    let head = request.query("head").filter(|_| !state.ignores_head);
    let is_wanted = |found: &&RecordedPullRequest| {
        let is_head = head.as_ref().is_none_or(|head| *head == found.head);
        is_head && (wanted == "all" || (wanted == "open") == found.is_open)
    };
    let size = request.number("limit", 30).min(50);
    let page = request.number("page", 1).max(1);
    let found = state.pull_requests.iter().rev().filter(is_wanted).skip((page - 1) * size).take(size);
    found.map(|found| view(state, found)).collect()
}

fn open(state: &mut State, request: &Request) -> (u16, Value) {
    let (head, base) = (request.text("head"), request.text("base"));
    let (Some(commit), true) = (state.branches.get(&head).cloned(), state.branches.contains_key(&base))
    else {
        return (404, json!({ "message": "The target couldn't be found." }));
    };
    let title = request.text("title");
    let new = RecordedPullRequest {
        number: 0,
        is_draft: title.to_uppercase().starts_with(DRAFT_PREFIX),
        title,
        body: request.text("body"),
        head_owner: OWNER.to_owned(),
        head,
        head_commit: commit,
        base,
        is_open: true,
        is_merged: false,
    };
    match state.add(new) {
        Some(created) => (201, view(state, &created)),
        None => (409, json!({ "message": "pull request already exists for these targets" })),
    }
}

fn view(state: &State, found: &RecordedPullRequest) -> Value {
    // The branch of an ended pull request is often deleted: its `ref` is another one then.
    let reference =
        if found.is_open { found.head.clone() } else { format!("refs/pull/{}/head", found.number) };
    json!({
        "number": found.number,
        "html_url": format!("{}/{OWNER}/{REPOSITORY}/pulls/{}", state.web, found.number),
        "state": if found.is_open { "open" } else { "closed" },
        "draft": found.is_draft,
        "merged": found.is_merged,
        "title": found.title,
        "head": {
            "label": found.head,
            "ref": reference,
            "sha": found.head_commit,
            "repo": { "full_name": format!("{}/{REPOSITORY}", found.head_owner) },
        },
        "base": { "label": found.base, "ref": found.base },
    })
}
