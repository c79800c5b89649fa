//! What runs behind the API: the sequencer, the sweeper and the housekeeping. Every part is safe to run in several daemons at once.

pub mod health;
pub mod housekeeping;
pub mod sequencer;
pub mod sweeper;
