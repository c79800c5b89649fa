//! Where the store is known to differ from what it should do. The model expects the difference exactly, so that nothing
//! else hides behind it; whoever mends one sees this test fail, and takes its line out.

/// A turn that comes and is lost within one command (the lease before it had run out, and the command takes over, or lets
/// go of, what it has just become): the session keeps the lease of whoever holds the lock after it, or none.
pub const LOST_TURN_KEEPS_ANOTHERS_LEASE: bool = true;

/// The end of a session by the clock, and a turn that comes by the clock, are told as the clock's doing, but the
/// deployments that are canceled or queued with it as the doing of whoever's command came across it.
pub const DEPLOYMENTS_ARE_TOLD_BY_WHO_CAME_ACROSS: bool = true;

/// A claim that is granted at once is answered without the session before it; the record has it.
pub const GRANT_AT_ONCE_OMITS_PREVIOUS: bool = true;
