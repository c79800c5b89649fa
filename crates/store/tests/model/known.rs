//! Where the store is known to differ from what it should do. The model expects the difference exactly, so that nothing
//! else hides behind it; whoever mends one sees this test fail, and takes its line out.

/// A claim that is granted at once is answered without the session before it; the record has it.
pub const GRANT_AT_ONCE_OMITS_PREVIOUS: bool = true;
