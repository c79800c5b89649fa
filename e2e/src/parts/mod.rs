//! The real parts that scenarios and fault campaigns consist of, each as a process that can be started,
//! killed and started again: the product's own programs, PostgreSQL, Temporal, containers, git; and the
//! network between them.

pub(crate) mod api;
pub(crate) mod containers;
pub(crate) mod cpu;
pub(crate) mod daemon;
pub(crate) mod deadline;
pub(crate) mod folder;
pub(crate) mod git_server;
pub(crate) mod held_connections;
pub(crate) mod interruption;
pub(crate) mod key_file;
pub(crate) mod left_over;
pub(crate) mod listeners;
pub(crate) mod machine;
pub(crate) mod near_limit;
pub(crate) mod output;
pub(crate) mod ports;
pub(crate) mod postgres;
pub(crate) mod program;
pub(crate) mod programs;
pub(crate) mod proxy;
pub(crate) mod registry;
pub(crate) mod runner;
pub(crate) mod signal;
pub(crate) mod stalls;
pub(crate) mod temporal;
pub(crate) mod tls;
