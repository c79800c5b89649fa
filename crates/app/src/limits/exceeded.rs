//! A limit that a request has exceeded, and how it is reported to the client: a problem, `Retry-After`, and
//! the header fields of draft-ietf-httpapi-ratelimit-headers.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::limits::{Kind, PartyLimit};

pub const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const SIGN_INS: &str = "sign_ins";

pub const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceeded {
    party: &'static str,
    what: &'static str,
    quota: u32,
    /// Whether the quota is a rate per second; otherwise it is a number of concurrent uses.
    per_second: bool,
    retry_after: u64,
}

impl Exceeded {
    /// The party has too many concurrent uses of a kind.
    pub const fn concurrency(kind: Kind, PartyLimit { party, limit }: PartyLimit) -> Self {
        Self { party: party.name(), what: kind.name(), quota: limit, per_second: false, retry_after: 1 }
    }

    /// The party has exceeded a rate per second, and can retry after `wait`.
    pub fn rate(what: &'static str, PartyLimit { party, limit }: PartyLimit, wait: Duration) -> Self {
        let retry_after = (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1);
        Self { party: party.name(), what, quota: limit, per_second: true, retry_after }
    }

    /// There were too many failed sign-ins.
    pub fn sign_ins(quota: u32, wait: Duration) -> Self {
        let retry_after = (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1);
        Self { party: "account", what: SIGN_INS, quota, per_second: false, retry_after }
    }

    /// Returns the name for programs and metrics: `token_in_flight`, `address_failures` and so on.
    pub fn name(&self) -> String {
        format!("{}_{}", self.party, self.what)
    }

    fn whose(&self) -> &'static str {
        match self.party {
            "token" => "this token",
            "person" => "this person (all tokens and browser sessions)",
            "organization" => "this organization",
            "runners" => "this organization's runners",
            _ => "this address",
        }
    }

    /// Returns the sentence for the client.
    pub fn detail(&self) -> String {
        let (quota, whose) = (self.quota, self.whose());
        let detail = match self.what {
            "in_flight" => {
                format!("There are {quota} requests of {whose} under way already, which is the limit.")
            }
            "bodies" => {
                format!(
                    "There are {quota} requests of {whose} already whose body has not arrived, which is the limit."
                )
            }
            "rate" => format!("More than {quota} requests per second came from {whose}."),
            "failures" => format!("More than {quota} invalid tokens per second came from {whose}."),
            "searches" => format!("At most {quota} searches of {whose} can run at a time."),
            "exchanges" => format!("More than {quota} exchanges of tokens per second came from {whose}."),
            "search_kib" => format!("More than {quota} KiB of logs per second were searched by {whose}."),
            SIGN_INS => format!("{quota} sign-ins have failed within 15 minutes."),
            what => format!("There are {quota} {what} of {whose} already, which is the limit."),
        };
        format!("{detail} Nothing was done. Try again after the time in `Retry-After`.")
    }

    pub const fn retry_after_seconds(&self) -> u64 {
        self.retry_after
    }

    pub fn write(&self, headers: &mut HeaderMap) {
        let (name, quota, wait) = (self.name(), self.quota, self.retry_after);
        let unit = match self.what {
            SIGN_INS => "w=900",
            _ if self.per_second => "w=1",
            _ => "qu=\"concurrent-requests\"",
        };
        let fields = [
            (header::RETRY_AFTER, wait.to_string()),
            (POLICY, format!("\"{name}\";q={quota};{unit}")),
            (RATE_LIMIT, format!("\"{name}\";r=0;t={wait}")),
        ];
        for (field, text) in fields {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(field, value);
            }
        }
    }
}
