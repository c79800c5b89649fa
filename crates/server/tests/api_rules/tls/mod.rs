//! TLS of the API's listener, tried with raw connections.

mod daemon;
mod fixture;
mod floods;
mod frames;
mod handshakes;
mod http2;
mod replacement;
