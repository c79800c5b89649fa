//! The actions about approvals: groups, votes, overrides and service accounts.

use serde::Deserialize;

use super::ExpectedResponse;

step_struct!(
    /// Creates a group as the owner, or adds members to it. A member who is named for the first time is a developer.
    Group { group: String, members: Vec<String>, by: Option<String> }
);
step_struct!(
    /// Creates a service account. Each of its tokens is a user of the scenario.
    ServiceAccount { service_account: String, tokens: Vec<String> }
);
step_struct!(
    /// Approves the newest approval of a stage.
    Approve {
        approve: (String, String),
        /// What was read; what is to be approved if omitted.
        digest: Option<String>,
        by: Option<String>,
        answer: Option<ExpectedResponse>,
    }
);
step_struct!(
    /// Rejects the newest approval of a stage.
    Reject {
        reject: (String, String),
        comment: String,
        by: Option<String>,
        answer: Option<ExpectedResponse>,
    }
);
step_struct!(
    /// Withdraws a vote on the newest approval of a stage.
    Withdraw { withdraw: (String, String), by: Option<String>, answer: Option<ExpectedResponse> }
);
step_struct!(
    /// Overrides gates of a stage.
    Override {
        #[serde(rename = "override")]
        stage: (String, String),
        reason: String,
        gates: Vec<String>,
        by: Option<String>,
        answer: Option<ExpectedResponse>,
    }
);
