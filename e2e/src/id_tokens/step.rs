//! The definition of the pipeline, whose step exchanges its tokens.

use serde_json::json;

use crate::id_tokens::options::IdTokens;
use crate::id_tokens::recorder::ACCEPTED;
use crate::id_tokens::relying_party::body;
use crate::parts::containers::IMAGE;

pub(super) const AUDIENCE: &str = "relying-party.example.test";
pub(super) const OTHER_AUDIENCE: &str = "other.example.test";
/// The environment of the stage.
pub(super) const ENVIRONMENT: &str = "production";
/// Roles of the relying party: for the step's subject, for another one, and for all.
pub(super) const ROLE: &str = "right";
pub(super) const OTHER_SUBJECT_ROLE: &str = "other-subject";
pub(super) const ANY_SUBJECT_ROLE: &str = "any-subject";
/// The beginning of the name of a control, which shows that a request is refused for one reason only.
pub(super) const CONTROL: &str = "control-";
/// Longer than the step's own time.
const TIMEOUT_MARGIN_SECONDS: u64 = 600;

/// The addresses that the step sends requests to.
pub(super) struct Addresses<'a> {
    pub(super) relying_party: &'a str,
    /// Another relying party, which is the other audience.
    pub(super) control: &'a str,
    pub(super) recorder: &'a str,
}

pub(super) fn definition(options: &IdTokens, addresses: &Addresses<'_>) -> String {
    let step = json!({
        "image": IMAGE,
        "run": script(),
        "variables": {
            "RELYING_PARTY": addresses.relying_party,
            "CONTROL": addresses.control,
            "RECORDER": addresses.recorder,
            "DURATION": options.seconds.to_string(),
        },
        "idTokens": { "TOKEN_FILE": AUDIENCE, "OTHER_TOKEN_FILE": OTHER_AUDIENCE },
    });
    let timeout = format!("{}s", options.seconds + TIMEOUT_MARGIN_SECONDS);
    json!({
        "environments": { ENVIRONMENT: { "url": "https://shop.example.test" } },
        "stages": { "exchange": { "environment": ENVIRONMENT, "timeout": timeout, "steps": [step] } },
    })
    .to_string()
}

/// The first token is kept until the end, when it has expired.
fn script() -> String {
    let body = body("$2", "$3");
    format!(
        r#"set -eu
# exchange ADDRESS ROLE TOKEN: prints the status of the response.
exchange() {{
  if refused=$(wget -q -O /dev/null --post-data "{body}" "$1/" 2>&1); then
    echo {ACCEPTED}
  else
    echo "$refused" | cut -d ' ' -f 6
  fi
}}
# check NAME ADDRESS ROLE TOKEN
check() {{
  status=$(exchange "$2" "$3" "$4")
  echo "$1: $status"
  wget -q -O /dev/null --post-data "" "$RECORDER/check?name=$1&status=$status"
}}
read_tokens() {{
  token=$(cat "$TOKEN_FILE")
  other=$(cat "$OTHER_TOKEN_FILE")
  at=$(date +%s)
}}
read_tokens
first=$token
check {CONTROL}expired "$RELYING_PARTY" {ROLE} "$first"
end=$((at + DURATION))
while [ "$at" -lt "$end" ]; do
  read_tokens
  status=$(exchange "$RELYING_PARTY" {ROLE} "$token")
  echo "exchange: $status"
  wget -q -O /dev/null --post-data "$token $other" "$RECORDER/exchange?at=$at&status=$status"
  sleep 1
done
read_tokens
check otherSubject "$RELYING_PARTY" {OTHER_SUBJECT_ROLE} "$token"
check {CONTROL}otherSubject "$RELYING_PARTY" {ANY_SUBJECT_ROLE} "$token"
check otherAudience "$RELYING_PARTY" {ROLE} "$other"
check {CONTROL}otherAudience "$CONTROL" {ROLE} "$other"
check expired "$RELYING_PARTY" {ROLE} "$first"
"#
    )
}
