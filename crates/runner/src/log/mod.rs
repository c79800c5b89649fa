//! A step's log on its way from the step to the server: read, masked, shipped. In order, without a gap, and with a bound on
//! what waits in memory: when that is full, the step is not read from, and so has to wait.

mod masker;
mod pump;

pub use self::masker::Masker;
pub use self::pump::{Limits, LogEnd, Pump, Signs, Sink, Taken};
