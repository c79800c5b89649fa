//! Reduces a log to the few lines that show why a step failed, without a model: compares it with good runs, looks for
//! words, and ranks. Pure and incremental.

mod block;
mod cluster;
mod keywords;
mod line;
mod record;
mod reducer;
mod reduction;
mod select;
mod signal;
mod tail;
mod template;
mod template_set;

pub use line::{CUT_MARK, MAX_SHOWN_BYTES, shown_text};
pub use reducer::Reducer;
pub use reduction::{Budget, Decisive, Item, LogSize, Reduction};
pub use template::template;
pub use template_set::{InvalidTemplateSet, TemplateSet};
