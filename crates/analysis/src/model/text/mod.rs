//! What happens to every text that is sent to a model or received from it. Pure.

mod clean;
mod cut;
mod instructions;
mod mask;
mod mask_rules;

pub(super) use self::clean::{clean, clean_line};
pub(super) use self::cut::{bound, cut_end, cut_middle};
pub(super) use self::instructions::count_instruction_like_lines;
pub(super) use self::mask::mask;
