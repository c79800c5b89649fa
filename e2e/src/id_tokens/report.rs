//! The result: what the step had in its files, and what the relying parties accepted and refused.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::id_tokens::options::IdTokens;
use crate::id_tokens::recorder::{ACCEPTED, Exchange, Recorded};
use crate::id_tokens::step::CONTROL;
use crate::id_tokens::token::Token;

/// What a relying party responds to each request that it has to refuse.
const REFUSALS: [(&str, &str); 4] =
    [("otherSubject", "403"), ("otherAudience", "400"), ("expired", "400"), (OTHER_KEY, "400")];
pub(super) const OTHER_KEY: &str = "otherKey";
/// The step exchanges a token each second. On a busy machine it takes longer, but not this many times longer.
const MAX_SLOWDOWN: u64 = 3;
const MAX_FINDINGS: usize = 20;

pub(super) struct Report {
    figures: Value,
    findings: Vec<String>,
}

impl Report {
    pub(super) fn new(options: &IdTokens, recorded: &Recorded) -> Self {
        let mut findings = Vec::new();
        let exchanges = &recorded.exchanges;
        let accepted = exchanges.iter().filter(|exchange| exchange.status == ACCEPTED).count();
        for exchange in exchanges.iter().filter(|exchange| exchange.status != ACCEPTED) {
            findings.push(format!("{}: an exchange got {}", exchange.at, exchange.status));
        }
        let expired = exchanges.iter().filter(|exchange| least_seconds_left(exchange) <= 0).count();
        if expired > 0 {
            findings.push(format!("{expired} times a file had no valid token"));
        }
        let count = exchanges.len() as u64;
        if count < options.seconds / MAX_SLOWDOWN {
            findings.push(format!("only {count} exchanges in {} s", options.seconds));
        }
        let refreshes = refreshes(exchanges);
        if refreshes < options.least_refreshes() {
            findings.push(format!("only {refreshes} refreshes; {} are needed", options.least_refreshes()));
        }
        let tokens = exchanges.iter().filter_map(|exchange| exchange.tokens[0].as_ref());
        let keys: BTreeSet<&str> = tokens.map(|token| token.key_id.as_str()).collect();
        if options.key_replacement_at().is_some() && keys.len() < 2 {
            findings.push("no token was signed with the new key".to_owned());
        }
        let mut figures = json!({
            "seconds": options.seconds,
            "tokenSeconds": options.token_seconds,
            "exchanges": count,
            "accepted": accepted,
            "expiredInFile": expired,
            "leastSecondsLeft": exchanges.iter().map(least_seconds_left).min(),
            "refreshes": refreshes,
            "signingKeys": keys.len(),
        });
        for (name, expected) in REFUSALS {
            let status = |name: &str| recorded.checks.get(name).map_or("none", String::as_str);
            let (refused, control) = (status(name), status(&format!("{CONTROL}{name}")));
            if refused != expected {
                findings.push(format!("{name} got {refused}, and not {expected}"));
            }
            if control != ACCEPTED {
                findings.push(format!("the control of {name} got {control}: the refusal proves nothing"));
            }
            figures[name] = number(refused);
            figures["control"][name] = number(control);
        }
        Self { figures, findings }
    }

    /// 0: as it has to be; 1: not.
    pub(super) fn exit_code(&self) -> ExitCode {
        if self.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    pub(super) fn print(&self, as_json: bool) -> std::io::Result<()> {
        let mut report = self.figures.clone();
        report["violations"] = json!(self.findings.len());
        report["findings"] = json!(self.findings.iter().take(MAX_FINDINGS).collect::<Vec<_>>());
        let mut out = std::io::stdout();
        if as_json { writeln!(out, "{report}") } else { writeln!(out, "{report:#}") }
    }
}

/// How long the tokens in the files were still valid; 0 if one of them was none.
fn least_seconds_left(exchange: &Exchange) -> i64 {
    let left = |token: &Option<Token>| token.as_ref().map_or(0, |token| token.expires_at - exchange.at);
    exchange.tokens.iter().map(left).min().unwrap_or_default()
}

/// Returns how often the exchanged token was replaced.
fn refreshes(exchanges: &[Exchange]) -> u64 {
    exchanges.windows(2).filter(|pair| pair[0].tokens[0] != pair[1].tokens[0]).count() as u64
}

fn number(status: &str) -> Value {
    status.parse::<u16>().map_or_else(|_| json!(status), |number| json!(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id_tokens::token::Token;

    const OPTIONS: IdTokens =
        IdTokens { seconds: 60, token_seconds: 20, json: true, keep: false, bin_dir: None, entry: None };

    fn token(expires_at: i64) -> Option<Token> {
        Token::unsigned(r#"{"kid":"k"}"#, &format!(r#"{{"exp":{expires_at}}}"#)).ok()
    }

    /// Tokens of 20 s that are replaced every 10 s, and all statuses as they have to be.
    fn good() -> Recorded {
        let exchange = |at: i64| {
            let token = token(at / 10 * 10 + 20);
            Exchange { at, status: ACCEPTED.to_owned(), tokens: [token.clone(), token] }
        };
        let refused = REFUSALS.iter().map(|(name, status)| ((*name).to_owned(), (*status).to_owned()));
        let control = REFUSALS.iter().map(|(name, _)| (format!("{CONTROL}{name}"), ACCEPTED.to_owned()));
        Recorded { exchanges: (0..60).map(exchange).collect(), checks: refused.chain(control).collect() }
    }

    #[test]
    fn a_run_without_violations_has_its_figures() {
        let report = Report::new(&OPTIONS, &good());
        assert_eq!(report.findings, Vec::<String>::new());
        let names = ["exchanges", "accepted", "expiredInFile", "leastSecondsLeft", "refreshes", "otherKey"];
        let figures = names.map(|name| report.figures[name].as_i64());
        assert_eq!(figures, [60, 60, 0, 11, 5, 400].map(Some));
        assert_eq!(report.figures["control"]["expired"], 200);
    }

    #[test]
    fn everything_that_is_wrong_is_found() {
        type Change = fn(&mut Recorded);
        let wrong: [(&str, Change); 8] = [
            ("an exchange got 400", |recorded| recorded.exchanges[7].status = "400".to_owned()),
            ("no valid token", |recorded| recorded.exchanges[7].tokens[1] = token(7)),
            ("no valid token", |recorded| recorded.exchanges[7].tokens[0] = None),
            ("only 10 exchanges", |recorded| recorded.exchanges.truncate(10)),
            ("only 0 refreshes", |recorded| {
                recorded.exchanges.iter_mut().for_each(|exchange| exchange.tokens[0] = token(100));
            }),
            ("otherKey got 200", |recorded| {
                recorded.checks.insert(OTHER_KEY.to_owned(), ACCEPTED.to_owned());
            }),
            ("expired got none", |recorded| drop(recorded.checks.remove("expired"))),
            ("the control of otherAudience got 400", |recorded| {
                recorded.checks.insert(format!("{CONTROL}otherAudience"), "400".to_owned());
            }),
        ];
        for (expected, change) in wrong {
            let mut recorded = good();
            change(&mut recorded);
            let findings = Report::new(&OPTIONS, &recorded).findings.join("; ");
            assert!(findings.contains(expected), "{expected}: {findings}");
        }
    }
}
