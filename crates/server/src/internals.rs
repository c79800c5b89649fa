//! Private items for the tests of this crate, which are in `tests/`: in `src`, cargo would compile the crate a second
//! time for them. Nothing else may use this.

pub use crate::http::docs::meaning;
pub use crate::http::rules::paced_body::{PacedBody, TooSlow};
pub use crate::http::rules::prefer::Prefer;
pub use crate::http::rules::problem::{PendingProblem, problem_response};
pub use crate::http::rules::range::parse_range;
pub use crate::http::rules::request_origin::{RequestOrigin, SEC_FETCH_SITE, cookie_counts};
pub use crate::http::rules::several::several;
pub use crate::serve::write_timeout::WriteTimeout;
pub use crate::telemetry::help::{Kind, METRICS, Unit};

pub mod body {
    pub use crate::http::rules::body::{depth, parse};
}

pub mod cookie {
    pub use crate::http::rules::cookie::{SESSION, clear_session, set_session, value};
}

pub mod security_headers {
    pub use crate::http::rules::security_headers::{DASHBOARD_POLICY, DATA_POLICY, add};
}
