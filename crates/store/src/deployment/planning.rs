//! Plans a deployment outside of any transaction, and not on the threads of the async runtime.
//!
//! Conditions are tenants' code. They are evaluated on separate threads, a few concurrently, and each with a
//! time limit. The transaction that uses the plan checks that it was computed from the same inputs.

use std::sync::Arc;
use std::time::Instant;

use greenroom_domain::definition::{CONDITION_STACK_BYTES, CONDITION_TIME, Definition, Expired};
use greenroom_domain::deployment::{NotPlanned, Plan, PlanInput, plan};
use greenroom_domain::id::OrganizationId;
use tokio::sync::oneshot;

use crate::StoreError;
use crate::compute_limit::ComputeLimiter;

/// The maximum number of plans that are computed concurrently in this process.
const CONCURRENT_PLANS: usize = 2;

static COMPUTE_LIMIT: ComputeLimiter = ComputeLimiter::new(CONCURRENT_PLANS);

/// All inputs of a plan. A version of a definition is immutable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanKey {
    pub(crate) definition_version: i32,
    pub(crate) input: PlanInput,
}

/// A plan, or the fact that planning failed.
#[derive(Debug)]
pub(crate) struct ComputedPlan {
    pub(crate) key: PlanKey,
    pub(crate) plan: Result<Plan, NotPlanned>,
}

impl PlanKey {
    /// Without conditions there is nothing to evaluate: planning only copies at most a hundred stages.
    pub fn is_cheap(definition: &Definition) -> bool {
        definition.stages.iter().all(|stage| stage.condition.is_none())
    }

    pub(crate) fn compute(self, definition: &Definition) -> ComputedPlan {
        ComputedPlan { plan: plan(definition, &self.input, &stopwatch), key: self }
    }

    /// Computes the plan on its own thread, because a deep expression needs a larger stack than the blocking
    /// pool's.
    pub(crate) async fn compute_on_own_thread(
        self,
        organization: OrganizationId,
        definition: Arc<Definition>,
    ) -> Result<ComputedPlan, StoreError> {
        let key = self.clone();
        let permit = COMPUTE_LIMIT.acquire(organization).await;
        let (sender, receiver) = oneshot::channel();
        let thread = std::thread::Builder::new().name("plan".to_owned()).stack_size(CONDITION_STACK_BYTES);
        let started = thread.spawn(move || {
            let _permit = permit;
            let _ = sender.send(self.compute(&definition));
        });
        started.map_err(sqlx::Error::Io)?;
        // A panic of the interpreter ends this deployment, like any other condition that can't be evaluated.
        Ok(receiver.await.unwrap_or(ComputedPlan { key, plan: Err(NotPlanned) }))
    }
}

/// Limits the time of one evaluation.
fn stopwatch() -> Expired {
    let started = Instant::now();
    Arc::new(move || started.elapsed() >= CONDITION_TIME)
}
