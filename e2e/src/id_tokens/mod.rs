//! `cargo xtask id-tokens`: a step in a container exchanges its id token at SeaweedFS, a real relying party,
//! every second. The token in its file must always be accepted, and never be expired. Tokens for another
//! subject or audience, expired ones and those of another key must be refused; for each refusal there is a
//! control, which differs in one thing and is accepted.

mod fixture;
mod key_replacement;
mod options;
mod other_key;
mod recorder;
mod relying_party;
mod report;
mod step;
mod token;

use std::process::ExitCode;

use anyhow::{Context, ensure};

pub(crate) use self::options::IdTokens;
use crate::id_tokens::fixture::IdTokenFixture;
use crate::id_tokens::report::{OTHER_KEY, Report};
use crate::id_tokens::step::CONTROL;
use crate::parts::interruption::Interruption;
use crate::parts::output::print_progress;

pub(crate) async fn run(options: IdTokens) -> anyhow::Result<ExitCode> {
    match campaign(&options).await {
        Ok(report) => {
            report.print(options.json)?;
            Ok(report.exit_code())
        }
        // A campaign that could not be carried out must not be taken for one that found something.
        Err(error) => {
            print_progress(&format!("{error:#}"));
            Ok(ExitCode::from(2))
        }
    }
}

async fn campaign(options: &IdTokens) -> anyhow::Result<Report> {
    // At its end the step sends the token that it had at its start, which has to be expired by then.
    let is_long_enough = options.seconds > options.token_seconds + 5;
    ensure!(is_long_enough, "--seconds has to be more than --token-seconds and 5");
    let mut interruption = Interruption::listen()?;
    let fixture = IdTokenFixture::start(options).await?;
    let result = interruption.or(exchange(&fixture, options)).await;
    fixture.end(options.keep).await?;
    result
}

async fn exchange(fixture: &IdTokenFixture, options: &IdTokens) -> anyhow::Result<Report> {
    let (seconds, lifetime) = (options.seconds, options.token_seconds);
    print_progress(&format!("a step exchanges its tokens of {lifetime} s for {seconds} s"));
    tokio::try_join!(fixture.deploy(seconds), fixture.replace_key(options.key_replacement_at()))?;
    let mut recorded = fixture.recorder().recorded();
    let last = recorded.exchanges.iter().rev().find_map(|exchange| exchange.tokens[0].clone());
    let (refused, control) = fixture.forge(&last.context("the step had no token")?).await?;
    recorded.checks.insert(OTHER_KEY.to_owned(), refused);
    recorded.checks.insert(format!("{CONTROL}{OTHER_KEY}"), control);
    Ok(Report::new(options, &recorded))
}
