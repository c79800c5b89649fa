//! Failures of steps: what they are about.

mod category;

pub use category::Category;
