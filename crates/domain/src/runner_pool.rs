//! Runner pools: which runners take a stage, and what its steps may reach there.

use crate::word::words;

/// What the steps of a pool's runners may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    /// Nothing but themselves.
    None,
    /// Whatever the runner's machine reaches.
    Bridge,
    /// The machine's own network.
    Host,
}

words!(Network { None = "none", Bridge = "bridge", Host = "host" });
