//! What the forge has recorded.

use std::collections::BTreeMap;

use crate::fault::{AppliesTo, Fault};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    pub method: String,
    pub path: String,
    pub query: String,
    pub has_token: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPullRequest {
    pub number: u64,
    pub title: String,
    pub body: String,
    /// The owner of the repository of the branch: another one is a fork.
    pub head_owner: String,
    pub head: String,
    pub head_commit: String,
    pub base: String,
    pub is_draft: bool,
    pub is_open: bool,
    pub is_merged: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedStatus {
    pub commit: String,
    pub context: String,
    pub state: String,
    pub url: String,
    pub description: String,
}

pub struct State {
    /// Where its pages are.
    pub(crate) web: String,
    pub(crate) fault: Option<(AppliesTo, Fault)>,
    /// By name, with the newest commit.
    pub branches: BTreeMap<String, String>,
    /// Titles of the commits that every comparison returns, by id.
    pub commits: Vec<(String, String)>,
    /// The files that every comparison returns.
    pub files: Vec<String>,
    pub pull_requests: Vec<RecordedPullRequest>,
    /// In the order of their requests.
    pub statuses: Vec<RecordedStatus>,
    pub requests: Vec<RecordedRequest>,
    /// Forgejo before version 17 ignores the parameter `head` of the list.
    pub ignores_head: bool,
}

impl State {
    pub(crate) fn new(web: String) -> Self {
        let branches = BTreeMap::from([("main".to_owned(), "0".repeat(40))]);
        Self {
            web,
            fault: None,
            branches,
            commits: Vec::new(),
            files: Vec::new(),
            pull_requests: Vec::new(),
            statuses: Vec::new(),
            requests: Vec::new(),
            ignores_head: false,
        }
    }

    /// Adds a pull request; `None` if there is an open one of the same head and base.
    pub fn add(&mut self, new: RecordedPullRequest) -> Option<RecordedPullRequest> {
        let is_same = |old: &RecordedPullRequest| {
            old.is_open && old.head == new.head && old.head_owner == new.head_owner && old.base == new.base
        };
        if self.pull_requests.iter().any(is_same) {
            return None;
        }
        let number = self.pull_requests.len() as u64 + 1;
        self.pull_requests.push(RecordedPullRequest { number, ..new });
        self.pull_requests.last().cloned()
    }

    /// Closes the open pull requests of a branch.
    pub fn close(&mut self, head: &str, is_merged: bool) {
        for pull_request in self.pull_requests.iter_mut().filter(|found| found.is_open && found.head == head)
        {
            pull_request.is_open = false;
            pull_request.is_merged = is_merged;
        }
    }

    /// Returns the largest number of pull requests of one head and commit, in all states: more than 1 is a double.
    pub fn most_of_one_head(&self) -> usize {
        let count = |one: &RecordedPullRequest| {
            let is_same = |other: &&RecordedPullRequest| {
                (&other.head_owner, &other.head, &other.head_commit)
                    == (&one.head_owner, &one.head, &one.head_commit)
            };
            self.pull_requests.iter().filter(is_same).count()
        };
        self.pull_requests.iter().map(count).max().unwrap_or(0)
    }
}
