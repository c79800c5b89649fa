//! A pair of windows, one quiet and one under attack, and the figures by which they are compared.

use crate::fault::overload::server_use::ServerUse;
use crate::fault::overload::window::Reads;

/// Two windows of the same length, one after the other in either order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pair {
    pub(crate) quiet: Window,
    pub(crate) attack: Window,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    pub(crate) reads: Reads,
    pub(crate) server: ServerUse,
}
