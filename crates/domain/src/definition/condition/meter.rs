//! Counts the cost of evaluating a condition, and ends the evaluation at a limit.
//!
//! The interpreter has no budget. Therefore the syntax tree of a condition is rewritten before it is
//! evaluated (see `metered`), so that it calls the functions of this file: `OPEN` before a call, `CHARGE`
//! with its result.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use cel::common::types::{CelBytes, CelList, CelMap, CelOptional, CelString, DYN_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};
use cel::{Env, ExecutionError};

use crate::definition::limits;

/// No condition can contain these names, because a name can't start with `@`.
pub(super) const METER: &str = "@meter";
pub(super) const OPEN: &str = "@open";
pub(super) const CHARGE: &str = "@charge";
pub(super) const CHARGE_ITERATIONS: &str = "@charge_iterations";

/// Text is charged by its length: comparing or copying it takes time and memory.
const BYTES_PER_STEP: usize = 16;

/// Returns whether the time of an evaluation is over. The domain has no clock, so the caller passes this in.
pub type Expired = Arc<dyn Fn() -> bool + Send + Sync>;

/// The limit at which an evaluation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Steps,
    Time,
}

/// The budget of one evaluation, as a value that the interpreter passes around.
#[derive(Clone)]
pub(super) struct Meter(Arc<State>);

struct State {
    steps_left: AtomicU64,
    out_of_time: AtomicBool,
    out_of_steps: AtomicBool,
    expired: Expired,
}

impl Meter {
    pub(super) fn new(expired: Expired) -> Self {
        Self(Arc::new(State {
            steps_left: AtomicU64::new(limits::CONDITION_STEPS),
            out_of_time: AtomicBool::new(false),
            out_of_steps: AtomicBool::new(false),
            expired,
        }))
    }

    /// Returns the limit that was reached. `a || b` ignores an error of `a` if `b` is true, so an evaluation
    /// can return a value although it ran into a limit.
    pub(super) fn limit(&self) -> Option<Limit> {
        if self.0.out_of_steps.load(Ordering::Relaxed) {
            return Some(Limit::Steps);
        }
        self.0.out_of_time.load(Ordering::Relaxed).then_some(Limit::Time)
    }

    fn charge(&self, steps: usize) -> Result<(), ExecutionError> {
        if self.limit().is_some() {
            return Err(exhausted());
        }
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        let left = self.0.steps_left.load(Ordering::Relaxed);
        if left < steps {
            self.0.out_of_steps.store(true, Ordering::Relaxed);
            return Err(exhausted());
        }
        self.0.steps_left.store(left - steps, Ordering::Relaxed);
        if (self.0.expired)() {
            self.0.out_of_time.store(true, Ordering::Relaxed);
            return Err(exhausted());
        }
        Ok(())
    }

    /// Charges for everything in a value. Stops at the limit, so that it takes no longer than the remaining
    /// budget.
    fn charge_value(&self, value: &dyn Val) -> Result<(), ExecutionError> {
        if let Some(text) = value.downcast_ref::<CelString<'_>>() {
            return self.charge(text.inner().len() / BYTES_PER_STEP);
        }
        if let Some(bytes) = value.downcast_ref::<CelBytes<'_>>() {
            return self.charge(bytes.inner().len() / BYTES_PER_STEP);
        }
        if let Some(list) = value.downcast_ref::<CelList<'_>>() {
            self.charge(list.inner().len())?;
            return list.inner().iter().try_for_each(|element| self.charge_value(element.as_ref()));
        }
        if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
            self.charge(map.inner().len())?;
            return map.inner().iter().try_for_each(|(key, value)| {
                self.charge_value(key.inner())?;
                self.charge_value(value.as_ref())
            });
        }
        match value.downcast_ref::<CelOptional<'_>>().and_then(CelOptional::inner) {
            Some(value) => self.charge_value(value),
            None => Ok(()),
        }
    }
}

impl std::fmt::Debug for Meter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meter").field("steps_left", &self.0.steps_left).finish_non_exhaustive()
    }
}

static METER_TYPE: LazyLock<Type> = LazyLock::new(|| Type::new_opaque_type(METER));

impl Val for Meter {
    fn get_type(&self) -> &Type {
        &METER_TYPE
    }

    fn cel_type() -> &'static Type {
        &METER_TYPE
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Meter {}

/// The standard functions and those of the meter.
pub(super) fn env() -> Option<Arc<Env>> {
    static ENV: LazyLock<Option<Arc<Env>>> = LazyLock::new(|| {
        let mut env = Env::stdlib();
        let two = || vec![DYN_TYPE, DYN_TYPE];
        env.add_overload(OPEN, OPEN, vec![DYN_TYPE], open).ok()?;
        env.add_overload(CHARGE, CHARGE, two(), charge).ok()?;
        env.add_overload(CHARGE_ITERATIONS, CHARGE_ITERATIONS, two(), charge_iterations).ok()?;
        Some(Arc::new(env))
    });
    ENV.clone()
}

type Arguments<'b, 'v> = Vec<CowVal<'b, 'v>>;
type Returned<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// `@open(@meter)`: charges one step; returns the meter.
fn open<'b, 'v>(mut arguments: Arguments<'b, 'v>) -> Returned<'b, 'v> {
    let meter = arguments.pop().ok_or_else(exhausted)?;
    as_meter(&meter)?.charge(1)?;
    Ok(meter)
}

/// `@charge(meter, value)`: charges by the size of the value; returns the value.
fn charge<'b, 'v>(mut arguments: Arguments<'b, 'v>) -> Returned<'b, 'v> {
    let value = arguments.pop().ok_or_else(exhausted)?;
    let meter = arguments.pop().ok_or_else(exhausted)?;
    as_meter(&meter)?.charge_value(value.as_ref())?;
    Ok(value)
}

/// `@charge_iterations(meter, list)`: charges a step for each element that a macro iterates over; returns the
/// list.
fn charge_iterations<'b, 'v>(mut arguments: Arguments<'b, 'v>) -> Returned<'b, 'v> {
    let value = arguments.pop().ok_or_else(exhausted)?;
    let meter = arguments.pop().ok_or_else(exhausted)?;
    let elements = value.as_sizer().map_or(0, |sizer| usize::try_from(*sizer.size().inner()).unwrap_or(0));
    as_meter(&meter)?.charge(elements)?;
    Ok(value)
}

fn as_meter<'a>(meter: &'a CowVal<'_, '_>) -> Result<&'a Meter, ExecutionError> {
    meter.as_ref().downcast_ref::<Meter>().ok_or_else(exhausted)
}

fn exhausted() -> ExecutionError {
    ExecutionError::function_error(CHARGE, "the limit of a condition is reached")
}
