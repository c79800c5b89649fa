//! The steps: an activity that does nothing. Implemented by hand, because the SDK's macro would need another
//! library.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use temporalio_common::ActivityDefinition;
use temporalio_sdk::activities::{
    ActivityContext, ActivityDefinitions, ActivityError, ActivityImplementer, ExecutableActivity,
};

/// The implementation of the steps.
pub struct Runner;

impl ActivityImplementer for Runner {
    fn register_all(self: Arc<Self>, definitions: &mut ActivityDefinitions) {
        definitions.register_activity::<RunStep>(self);
    }
}

#[derive(Clone, Copy, Debug)]
pub struct RunStep;

impl ActivityDefinition for RunStep {
    type Input = String;
    type Output = ();

    fn name(&self) -> &str {
        "run_step"
    }
}

impl ExecutableActivity for RunStep {
    type Implementer = Runner;
    const REQUIRES_INSTANCE: bool = false;

    fn definition() -> Self {
        Self
    }

    fn execute(
        _runner: Option<Arc<Runner>>,
        _ctx: ActivityContext,
        _deployment: String,
    ) -> BoxFuture<'static, Result<(), ActivityError>> {
        Box::pin(async { Ok(()) })
    }
}
