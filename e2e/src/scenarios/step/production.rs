//! The actions about lasting environments: users with a role, holds and freezes.

use serde::Deserialize;
use serde_json::Value;

use super::ExpectedResponse;

step_struct!(
    /// Creates a user with a role. A user who is first named in a `by` is a developer.
    Member { member: String, role: String }
);
step_struct!(
    /// Holds a lasting environment.
    Hold {
        hold: String,
        reason: String,
        until: String,
        by: Option<String>,
        answer: Option<ExpectedResponse>,
    }
);
step_struct!(
    /// Ends the hold of a lasting environment.
    EndHold { end_hold: String, by: Option<String>, answer: Option<ExpectedResponse> }
);
step_struct!(
    /// Creates a freeze. The value is the body of the request.
    Freeze {
        freeze: Value,
        #[serde(rename = "as")]
        name: Option<String>,
        by: Option<String>,
        answer: Option<ExpectedResponse>,
    }
);
step_struct!(
    /// Changes when a freeze ends.
    UpdateFreeze { update_freeze: String, to: String }
);
