//! Plans a deployment outside of any transaction and off the threads that serve everybody.
//!
//! Conditions are tenants' code. They are evaluated on threads of their own, few at a time and each within a limit; the
//! transaction that uses the plan checks that it was made from the same inputs.

use std::sync::Arc;
use std::time::Instant;

use greenroom_domain::definition::{CONDITION_STACK_BYTES, CONDITION_TIME, Definition, Expired};
use greenroom_domain::deployment::{NotPlanned, Plan, Scene, plan};
use greenroom_domain::id::OrganizationId;
use tokio::sync::oneshot;

use crate::StoreError;
use crate::turns::Turns;

/// Plans that are made at the same time, in this process.
const CONCURRENT_PLANS: usize = 2;

static TURNS: Turns = Turns::new(CONCURRENT_PLANS);

/// Everything that a plan is made of. A version of a definition never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanInputs {
    pub(crate) definition_version: i32,
    pub(crate) scene: Scene,
}

/// A plan, or that there is none.
#[derive(Debug)]
pub(crate) struct MadePlan {
    pub(crate) inputs: PlanInputs,
    pub(crate) plan: Result<Plan, NotPlanned>,
}

impl PlanInputs {
    /// Without conditions there is nothing to evaluate: planning is a copy of at most a hundred stages.
    pub(crate) fn is_cheap(definition: &Definition) -> bool {
        definition.stages.iter().all(|stage| stage.condition.is_none())
    }

    pub(crate) fn make(self, definition: &Definition) -> MadePlan {
        MadePlan { plan: plan(definition, &self.scene, &clock), inputs: self }
    }

    /// The same, on a thread of its own: a deep expression needs a larger stack than the blocking pool's.
    pub(crate) async fn make_apart(
        self,
        organization: OrganizationId,
        definition: Arc<Definition>,
    ) -> Result<MadePlan, StoreError> {
        let inputs = self.clone();
        let turn = TURNS.take(organization).await;
        let (sender, receiver) = oneshot::channel();
        let thread = std::thread::Builder::new().name("plan".to_owned()).stack_size(CONDITION_STACK_BYTES);
        let started = thread.spawn(move || {
            let _turn = turn;
            let _ = sender.send(self.make(&definition));
        });
        started.map_err(sqlx::Error::Io)?;
        // A panic of the interpreter ends this deployment, as any other condition that can't be evaluated does.
        Ok(receiver.await.unwrap_or(MadePlan { inputs, plan: Err(NotPlanned) }))
    }
}

/// Measures one evaluation.
fn clock() -> Expired {
    let started = Instant::now();
    Arc::new(move || started.elapsed() >= CONDITION_TIME)
}

#[cfg(test)]
mod tests {
    use greenroom_domain::definition::parse;

    use super::*;

    /// What is cheap is planned inside of the transaction, with rows locked. Evaluating a condition is not.
    #[test]
    fn a_definition_with_a_condition_is_not_cheap_to_plan() {
        let definition = |condition: &str| {
            let stage = format!("stages: {{ build: {{ {condition}steps: [{{ image: a, run: b }}] }} }}");
            parse(&stage).unwrap()
        };
        assert!(PlanInputs::is_cheap(&definition("")));
        assert!(!PlanInputs::is_cheap(&definition("if: 'true', ")));
    }
}
