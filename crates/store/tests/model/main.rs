//! A model-based test of the store against the pure machine in `domain`: each case is a sequence of random
//! steps. Both execute every step, and everything that is observable is compared after it.
//!
//! `PROPTEST_CASES` (256) and `GREENROOM_MODEL_STEPS` (50, the maximum number of steps of a case) make it
//! larger. A seed that failed is stored in `regressions.txt` and tried first from then on. Commit it together
//! with the fix.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may")]

mod clock;
mod events;
mod execute;
mod expected_event;
mod fixture;
mod inconsistent_row;
mod model;
mod record;
mod rows;
mod shared_fixture;
mod step;
mod tally;
mod views;

use std::panic::resume_unwind;

use clock::Clock;
use execute::Outcome;
use fixture::ModelFixture;
use greenroom_domain::environment::{Applied, Effect};
use jiff::Timestamp;
use model::{Expected, Model};
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};
use shared_fixture::SharedFixture;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use step::{ENVIRONMENTS, Step, TIME_UNIT};

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/model/regressions.txt");
const DEFAULT_CASES: u32 = 256;
const DEFAULT_MAX_STEPS: usize = 50;
/// The cases are repeated with other random numbers while something in `MUST_OCCUR` has not occurred.
const MAX_RUNS: u32 = 5;

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_store_agrees_with_the_machine(pool: PgPoolOptions, database: PgConnectOptions) {
    tokio::task::spawn_blocking(|| {
        let shared = SharedFixture::prepare(pool, database);
        shared.runtime.block_on(inconsistent_row::a_waiter_is_not_overtaken());
        run();
        shared.runtime.block_on(shared.store.close());
    })
    .await
    .unwrap_or_else(|failed| resume_unwind(failed.into_panic()));
}

fn run() {
    let steps =
        std::env::var("GREENROOM_MODEL_STEPS").map_or(DEFAULT_MAX_STEPS, |steps| steps.parse().unwrap());
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
        if config.cases < DEFAULT_CASES || SharedFixture::get().tally.missing().is_empty() {
            return;
        }
    }
    SharedFixture::get().tally.assert_varied();
}

struct StoreTest;

impl StateMachineTest for StoreTest {
    type SystemUnderTest = ModelFixture;
    type Reference = Model;

    fn init_test(_: &Model) -> ModelFixture {
        SharedFixture::get().runtime.block_on(ModelFixture::begin())
    }

    fn apply(fixture: ModelFixture, model: &Model, step: Step) -> ModelFixture {
        fixture.shared.runtime.block_on(execute_and_compare(&fixture, model, step));
        fixture
    }

    fn teardown(fixture: ModelFixture, _: Model) {
        fixture.shared.runtime.block_on(fixture.clear());
    }
}

/// Executes a step, and compares everything that is observable.
async fn execute_and_compare(fixture: &ModelFixture, model: &Model, step: Step) {
    let outcome = match (&model.last, step) {
        (Some(expected), _) => Some((expected, fixture.execute(expected).await)),
        (None, Step::TimePasses { units }) => {
            clock::pass(fixture, units * TIME_UNIT).await;
            None
        }
        (None, Step::Role { user, demoted }) => {
            fixture.shared.set_role(user, demoted).await;
            None
        }
        (None, Step::At { .. }) => None,
    };
    let clock = rows::compare(fixture, model).await;
    events::compare(fixture, model).await;
    views::compare_locks(fixture, model, &clock).await;
    match outcome {
        Some((expected, outcome)) => {
            compare_outcome(fixture, model, &clock, expected, outcome);
            views::compare(fixture, model, &clock, expected.environment).await;
            fixture.shared.tally.count(expected);
        }
        None => {
            for place in 0..ENVIRONMENTS {
                views::compare(fixture, model, &clock, place).await;
            }
        }
    }
}

/// Returns the effects without their times, which differ from the database's.
fn without_times(applied: &Applied) -> Applied {
    let effect = |effect: &Effect| match *effect {
        Effect::HandoverRequested { session, by, .. } => {
            Effect::HandoverRequested { session, by, due_at: Timestamp::UNIX_EPOCH }
        }
        other => other,
    };
    applied.as_ref().map(|effects| effects.iter().map(effect).collect()).map_err(|refusal| *refusal)
}

fn compare_outcome(
    fixture: &ModelFixture,
    model: &Model,
    clock: &Clock,
    expected: &Expected,
    outcome: Outcome,
) {
    let tried_fast_path = expected.request.path != step::GrantPath::Slow;
    match outcome {
        Outcome::Applied(applied) => {
            assert!(
                !(tried_fast_path && expected.fast_path),
                "the fast path did not handle a request that it should"
            );
            assert_eq!(applied, without_times(&expected.applied), "the result differs from the machine's");
        }
        Outcome::FastPath(done) => {
            assert!(expected.fast_path, "the fast path handled a request that it should not: {done:?}");
            assert!(!done.deployed, "the fast path handled a session with deployments");
            let environment = &model.environments[expected.environment];
            let id = fixture.modeled(done.session.id);
            let ordinal = environment.sessions.iter().position(|record| record.id == id).unwrap();
            let mut session = views::session(fixture, model, expected.environment, ordinal);
            // Only a history includes the previous session.
            session.previous_session_id = None;
            assert_eq!(views::in_model(fixture, clock, done.session, Some(&session)), session);
            let lock = views::lock(fixture, model.now, environment);
            assert_eq!(views::lock_in_model(fixture, clock, done.lock, &lock), lock);
        }
        Outcome::Swept => assert_eq!(expected.applied, Ok(Vec::new())),
    }
}
