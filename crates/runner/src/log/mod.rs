//! Ships a step's log to the server: reads, masks and sends it in order and without gaps. The buffer in
//! memory is bounded: when it is full, the step's output is not read, and the step blocks as soon as it
//! writes more.

mod forms;
mod masker;
mod patterns;
mod pump;

pub use self::masker::{Masker, mask};
pub use self::patterns::SecretPatterns;
pub use self::pump::{AppendResult, Limits, LogEnd, LogSignals, Pump, Sink};
