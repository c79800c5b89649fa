//! The actions about secrets: creating and changing them, and searching for what must not be found.

use serde::Deserialize;
use serde_json::Value;

use super::ExpectedResponse;

step_struct!(
    /// Creates another pipeline, with the same definition.
    CreatePipeline { create_pipeline: String }
);
step_struct!(
    /// Creates a secret. The value is the body of the request.
    CreateSecret {
        create_secret: Value,
        #[serde(rename = "as")]
        name: Option<String>,
        by: Option<String>,
        answer: Option<ExpectedResponse>,
    }
);
step_struct!(
    /// Replaces the policy of a secret.
    UpdateSecret { update_secret: String, policy: Value }
);
step_struct!(
    /// Sets the value of a secret, which makes a new version.
    SetSecret { set_secret: String, value: String, answer: Option<ExpectedResponse> }
);
step_struct!(
    /// Searches for a text, in all common encodings, where no credential may be.
    Nowhere { nowhere: String }
);
