//! Holds the store's SQL to the pure machine in `domain`: cases of random steps, each taken by both, with all that can be
//! seen of them compared after every step.
//!
//! `PROPTEST_CASES` (256) and `GREENROOM_MODEL_STEPS` (50, the most that a case has) make it larger. A seed that failed is
//! kept in `regressions.txt`, tried first from then on, and committed with what mends it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may")]

mod ask;
mod case;
mod clock;
mod events;
mod ground;
mod model;
mod record;
mod rows;
mod shown;
mod step;
mod tally;
mod told;
mod untidy;

use std::panic::resume_unwind;

use ask::Answer;
use case::Case;
use clock::Clock;
use greenroom_domain::environment::{Applied, Effect};
use ground::Ground;
use jiff::Timestamp;
use model::{Expected, Model};
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use step::{ENVIRONMENTS, Step, TIME_UNIT};

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/model/regressions.txt");
const USUAL_CASES: u32 = 256;
const USUAL_STEPS: usize = 50;
/// How many times the cases are repeated with other random numbers, as long as something that must occur has not.
const MAX_RUNS: u32 = 5;

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_sql_does_what_the_machine_says(pool: PgPoolOptions, database: PgConnectOptions) {
    tokio::task::spawn_blocking(|| {
        let ground = Ground::prepare(pool, database);
        ground.runtime.block_on(untidy::who_waits_is_not_overtaken());
        run();
        ground.runtime.block_on(ground.store.close());
    })
    .await
    .unwrap_or_else(|failed| resume_unwind(failed.into_panic()));
}

fn run() {
    let steps = std::env::var("GREENROOM_MODEL_STEPS").map_or(USUAL_STEPS, |steps| steps.parse().unwrap());
    let mut config = Config::default();
    if config.failure_persistence.is_some() {
        config.failure_persistence = Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS)));
    }
    let cases = Model::sequential_strategy(1..=steps);
    for _ in 0..MAX_RUNS {
        let result = TestRunner::new(config.clone()).run(&cases, |(model, steps, seen)| {
            StoreTest::test_sequential(config.clone(), model, steps, seen);
            Ok(())
        });
        if let Err(error) = result {
            panic!("{error}");
        }
        if config.cases < USUAL_CASES || Ground::get().tally.missing().is_empty() {
            return;
        }
    }
    Ground::get().tally.assert_varied();
}

struct StoreTest;

impl StateMachineTest for StoreTest {
    type SystemUnderTest = Case;
    type Reference = Model;

    fn init_test(_: &Model) -> Case {
        Ground::get().runtime.block_on(Case::begin())
    }

    fn apply(case: Case, model: &Model, step: Step) -> Case {
        case.ground.runtime.block_on(take(&case, model, step));
        case
    }

    fn teardown(case: Case, _: Model) {
        case.ground.runtime.block_on(case.clear());
    }
}

/// Takes a step, and compares everything that can be seen of it.
async fn take(case: &Case, model: &Model, step: Step) {
    let answer = match (&model.last, step) {
        (Some(expected), _) => Some((expected, case.carry_out(expected).await)),
        (None, Step::TimePasses { units }) => {
            clock::pass(case, units * TIME_UNIT).await;
            None
        }
        (None, Step::Role { user, demoted }) => {
            case.ground.set_role(user, demoted).await;
            None
        }
        (None, Step::At { .. }) => None,
    };
    let clock = rows::compare(case, model).await;
    events::compare(case, model).await;
    shown::compare_locks(case, model, &clock).await;
    match answer {
        Some((expected, answer)) => {
            compare_answer(case, model, &clock, expected, answer);
            shown::compare(case, model, &clock, expected.environment).await;
            case.ground.tally.count(expected);
        }
        None => {
            for place in 0..ENVIRONMENTS {
                shown::compare(case, model, &clock, place).await;
            }
        }
    }
}

/// The effects without their times, which are not the database's.
fn without_times(applied: &Applied) -> Applied {
    let effect = |effect: &Effect| match *effect {
        Effect::HandoverRequested { session, by, .. } => {
            Effect::HandoverRequested { session, by, due_at: Timestamp::UNIX_EPOCH }
        }
        other => other,
    };
    applied.as_ref().map(|effects| effects.iter().map(effect).collect()).map_err(|refusal| *refusal)
}

fn compare_answer(case: &Case, model: &Model, clock: &Clock, expected: &Expected, answer: Answer) {
    let tried = expected.ask.way != step::Way::Long;
    match answer {
        Answer::Applied(applied) => {
            assert!(!(tried && expected.at_once), "the one statement left alone what it is for");
            assert_eq!(applied, without_times(&expected.applied), "the answer is not the machine's");
        }
        Answer::AtOnce(done) => {
            assert!(expected.at_once, "the one statement did what it should leave alone: {done:?}");
            assert!(!done.deployed, "what has deployments is not for the one statement");
            let environment = &model.environments[expected.environment];
            let id = case.modeled(done.session.id);
            let ordinal = environment.sessions.iter().position(|record| record.id == id).unwrap();
            let mut session = shown::session(case, model, expected.environment, ordinal);
            // Only a history shows which one came before, and reads it then.
            session.previous_session_id = None;
            assert_eq!(shown::in_model(case, clock, done.session, Some(&session)), session);
            let lock = shown::lock(case, model.now, environment);
            assert_eq!(shown::lock_in_model(case, clock, done.lock, &lock), lock);
        }
        Answer::Swept => assert_eq!(expected.applied, Ok(Vec::new())),
    }
}
