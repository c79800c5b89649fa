//! The workflow: as many activities as a deployment of three stages has, with the same limits, on separate
//! queues as runners have them. It counts itself when its last step is done, which is when a deployment would
//! be `succeeded`.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use temporalio_workflow::{ActivityOptions, WorkflowContext, WorkflowResult, workflow, workflow_methods};

use crate::steps::RunStep;

pub const WORKFLOWS: &str = "bare-workflows";
/// Steps are not run by the worker that runs workflows, so there is no eager execution.
pub const STEPS: &str = "bare-steps";
const STEPS_EACH: usize = 3;
/// Same as the product: a runner that dies has to be noticed in any design.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(30);
const STEP_LIMIT: Duration = Duration::from_secs(25 * 60 * 60);

/// The workflows that have ended. Counted outside of the engine, so that counting costs it nothing; by name,
/// because the engine may run the end of one again.
static DONE: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

/// How many workflows of a wave have ended.
pub fn done(wave: &str) -> usize {
    let done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    done.iter().filter(|name| name.split_once('/').is_some_and(|(of, _)| of == wave)).count()
}

#[workflow]
#[derive(Default)]
pub struct ThreeSteps;

#[workflow_methods]
impl ThreeSteps {
    #[run(name = "three-steps")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, deployment: String) -> WorkflowResult<()> {
        for _ in 0..STEPS_EACH {
            let options = ActivityOptions::with_schedule_to_close_timeout(STEP_LIMIT)
                .task_queue(STEPS.to_owned())
                .heartbeat_timeout(HEARTBEAT_TIMEOUT)
                .build();
            ctx.execute_activity(RunStep, deployment.clone(), options).await?;
        }
        DONE.lock().unwrap_or_else(PoisonError::into_inner).insert(deployment);
        Ok(())
    }
}
