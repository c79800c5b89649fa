//! GitHub's dialect.

use serde_json::{Value, json};

use crate::request::Request;
use crate::state::{RecordedPullRequest, RecordedStatus, State};
use crate::{OWNER, REPOSITORY};

pub(crate) fn serve(state: &mut State, request: &Request) -> (u16, Value) {
    if !request.is_authorized("Bearer") {
        return (401, json!({ "message": "Bad credentials" }));
    }
    let missing = (404, json!({ "message": "Not Found" }));
    let Some((method, segments)) = request.route("") else { return missing };
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match (method, segments.as_slice()) {
        ("GET", []) => {
            (200, json!({ "full_name": format!("{OWNER}/{REPOSITORY}"), "default_branch": "main" }))
        }
        ("GET", ["branches", name]) => match state.branches.get(*name) {
            Some(commit) => (200, json!({ "name": name, "commit": { "sha": commit } })),
            None => missing,
        },
        ("GET", ["compare", _]) => {
            let commit =
                |(id, title): &(String, String)| json!({ "sha": id, "commit": { "message": title } });
            let size = request.number("per_page", 250);
            let commits: Vec<Value> = state.commits.iter().take(size).map(commit).collect();
            let files: Vec<Value> = state.files.iter().map(|path| json!({ "filename": path })).collect();
            (200, json!({ "total_commits": state.commits.len(), "commits": commits, "files": files }))
        }
        ("GET", ["pulls"]) => (200, list(state, request)),
        ("POST", ["pulls"]) => open(state, request),
        ("POST", ["statuses", commit]) => {
            state.statuses.push(status(request, commit));
            (201, json!({ "state": request.text("state"), "context": request.text("context") }))
        }
        _ => missing,
    }
}

pub(crate) fn status(request: &Request, commit: &str) -> RecordedStatus {
    RecordedStatus {
        commit: commit.to_owned(),
        context: request.text("context"),
        state: request.text("state"),
        url: request.text("target_url"),
        description: request.text("description"),
    }
}

fn list(state: &State, request: &Request) -> Value {
    let (head, wanted) = (request.query("head"), request.query("state").unwrap_or_else(|| "open".to_owned()));
    let is_wanted = |found: &&RecordedPullRequest| {
        let label = format!("{}:{}", found.head_owner, found.head);
        let is_head = head.as_ref().is_none_or(|head| head.eq_ignore_ascii_case(&label));
        is_head && (wanted == "all" || (wanted == "open") == found.is_open)
    };
    let size = request.number("per_page", 30).min(100);
    let page = request.number("page", 1).max(1);
    let found = state.pull_requests.iter().rev().filter(is_wanted).skip((page - 1) * size).take(size);
    found.map(|found| view(state, found)).collect()
}

fn open(state: &mut State, request: &Request) -> (u16, Value) {
    let (head, base) = (request.text("head"), request.text("base"));
    let refused = |text: String| {
        (
            422,
            json!({ "message": "Validation Failed", "errors": [{ "resource": "PullRequest", "message": text }] }),
        )
    };
    let (Some(commit), true) = (state.branches.get(&head).cloned(), state.branches.contains_key(&base))
    else {
        return refused("head or base is invalid".to_owned());
    };
    let new = RecordedPullRequest {
        number: 0,
        title: request.text("title"),
        body: request.text("body"),
        head_owner: OWNER.to_owned(),
        head: head.clone(),
        head_commit: commit,
        base,
        is_draft: request.body["draft"] == true,
        is_open: true,
        is_merged: false,
    };
    match state.add(new) {
        Some(created) => (201, view(state, &created)),
        None => refused(format!("A pull request already exists for {OWNER}:{head}.")),
    }
}

fn view(state: &State, found: &RecordedPullRequest) -> Value {
    json!({
        "number": found.number,
        "html_url": format!("{}/{OWNER}/{REPOSITORY}/pull/{}", state.web, found.number),
        "state": if found.is_open { "open" } else { "closed" },
        "draft": found.is_draft,
        "merged_at": found.is_merged.then_some("2026-01-01T00:00:00Z"),
        "title": found.title,
        "head": {
            "ref": found.head,
            "sha": found.head_commit,
            "repo": { "full_name": format!("{}/{REPOSITORY}", found.head_owner) },
        },
        "base": { "ref": found.base },
    })
}
