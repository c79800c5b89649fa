//! What a failure is about, by a table of rules over its reason, its exit code and its decisive lines.

mod general;
mod pattern;
mod reason;
mod specific;

use greenroom_domain::deployment::Reason;
use greenroom_domain::failure::Category;

/// What is known of a failure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clues<'a> {
    /// The reason of the job or the stage.
    pub reason: Option<Reason>,
    pub exit_code: Option<i32>,
    /// The decisive line; without a log, the detail of the reason.
    pub decisive: &'a str,
    /// The decisive item's text, line by line.
    pub block: &'a str,
}

/// Returns the category of a failure. It is `Unknown` rather than a guess.
pub fn categorize(clues: &Clues<'_>) -> Category {
    if let Some(category) = clues.reason.and_then(reason::category) {
        return category;
    }
    by_text(clues.decisive)
        .or_else(|| by_exit_code(clues.exit_code))
        .or_else(|| clues.block.lines().find_map(by_text))
        .unwrap_or(Category::Unknown)
}

fn by_text(line: &str) -> Option<Category> {
    let line = line.trim().to_lowercase();
    let mut rules = specific::RULES.iter().chain(general::RULES);
    rules.find(|(_, pattern)| pattern::matches(pattern, &line)).map(|(category, _)| *category)
}

/// Exit codes that programs have in common.
fn by_exit_code(code: Option<i32>) -> Option<Category> {
    match code? {
        // `timeout` ended the command.
        124 => Some(Category::Timeout),
        // Not executable, not found.
        126 | 127 => Some(Category::Configuration),
        // Killed, usually because of the memory limit.
        137 => Some(Category::Resource),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
