//! What runs beside requests on every server: the feed of events, the rights of open streams, the heartbeats
//! of sessions that are watched, and the garbage collection of objects.

pub mod feed;
pub mod object_gc;
pub mod stream_rights;
pub mod watcher_heartbeat;
