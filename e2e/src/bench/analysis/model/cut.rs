//! Logs without their cause. A model should respond to them that the data is not enough.

use std::collections::HashSet;

use greenroom_analysis::reduce::template;

/// Cases in which only the decisive lines show the cause: the other lines of the failed run are in good runs as well. None is
/// held out.
pub(super) const CASES: [&str; 8] = [
    "curl-unknown-host",
    "flake8-unused",
    "install-permission-denied",
    "jq-parse-error",
    "protoc-undefined-type",
    "psql-wrong-password",
    "skopeo-missing-tag",
    "sqlite-locked",
];

/// Removes the decisive lines, and the lines that have the template of one.
pub(super) fn cut(output: &str, decisive: &str) -> String {
    let templates: HashSet<String> =
        output.lines().filter(|line| line.contains(decisive)).map(template).collect();
    let kept = output.lines().filter(|line| !templates.contains(&template(line)));
    kept.flat_map(|line| [line, "\n"]).collect()
}
