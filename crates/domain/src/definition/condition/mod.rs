//! The `if` of a stage: a CEL expression, parsed here so that a mistake shows before anything runs.

mod names;

use cel::Program;

use super::diagnostic::quote;
use super::limits;
pub(super) use names::NAMES;

/// The names in an expression that are none of [`NAMES`]; or what is wrong with the expression, as the rest of a
/// sentence that begins with its name.
pub(super) fn unknown_names(expression: &str) -> Result<Vec<String>, String> {
    if expression.trim().is_empty() {
        return Err("is empty; leave it out to run always".to_owned());
    }
    if expression.len() > limits::CONDITION_BYTES {
        return Err(format!("is longer than {} bytes", limits::CONDITION_BYTES));
    }
    // The parser recurses for each of these and would end the process, not the request, when the stack does.
    if nesting(expression) > limits::CONDITION_NESTING {
        return Err(format!("nests brackets deeper than {} levels", limits::CONDITION_NESTING));
    }
    let program = Program::compile(expression).map_err(|failure| {
        let first = failure.errors.first();
        let reason = first.map_or_else(String::new, |error| reason(&error.msg, error.pos));
        format!("is not a CEL expression{reason}")
    })?;
    Ok(names::unknown(program.expression()))
}

/// Brackets in text literals count too: telling them apart would need the parser that this protects.
fn nesting(expression: &str) -> usize {
    let mut open = 0_usize;
    let mut deepest = 0;
    for byte in expression.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest
}

/// The parser's message names its own tokens; what helps is the place and the text that it stumbled over.
fn reason(message: &str, (line, column): (isize, isize)) -> String {
    if message.contains("'<EOF>'") {
        return ": it ends too early".to_owned();
    }
    let place = if line > 1 {
        format!("line {line}, character {column} of it")
    } else {
        format!("character {column}")
    };
    let stumbled =
        message.split_once('\'').and_then(|(_, rest)| rest.split('\'').find(|part| !part.is_empty()));
    match stumbled.filter(|_| message.starts_with("Syntax error")) {
        Some(text) => format!(": {} at {place} is not expected", quote(text)),
        None => format!(": see {place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(expression: &str) -> Option<String> {
        unknown_names(expression).err()
    }

    #[test]
    fn table() {
        for good in
            ["branch == \"main\"", "true", "!(a && b) || c.startsWith('x')", "x in ['a', 'b']", "a ? b : c"]
        {
            assert_eq!(problem(good), None, "{good}");
        }
        for (bad, part) in [
            ("", "is empty"),
            (" \n", "is empty"),
            ("branch ==", "ends too early"),
            ("((a)", "ends too early"),
            ("a = b", "`= ` at character 3"),
            ("a &&& b", "character 5"),
            ("1 +\n  * 2", "`*` at line 2, character 3 of it"),
        ] {
            let found = problem(bad).unwrap_or_default();
            assert!(found.contains(part), "{bad:?}: {found}");
        }
    }

    /// Runs on a test's stack of 2 MiB, in a debug build: the worst that the limits let through.
    #[test]
    fn the_limits_fit_the_stack() {
        let deep = |open: &str, close: &str, levels: usize| {
            format!("{}a{}", open.repeat(levels), close.repeat(levels))
        };
        let fill = |part: &str, room: usize| part.repeat(room / part.len());
        let most = limits::CONDITION_NESTING;
        let room = limits::CONDITION_BYTES - 64;
        for expression in [
            deep("(", ")", most),
            deep("[", "]", most),
            deep("f(", ")", most),
            format!("{}a{}{}", "f(".repeat(most), fill(".b", room), ")".repeat(most)),
            format!("{}a{}{}", "(".repeat(most), fill("==b", room), ")".repeat(most)),
            format!("{}a{}", "(".repeat(most), fill("?b:c", room)),
            fill("a?b:", room),
            format!("a{}", fill("[0]", room)),
            format!("a{}", fill(".b", room)),
            format!("a{}", fill("-1", room)),
            format!("a{}", fill(".map(x,x)", room)),
            format!("{}a{}", "[a].map(x,".repeat(most), ")".repeat(most)),
            fill("!", room),
        ] {
            let _whatever = problem(&expression);
        }
        for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("f(", ")")] {
            let found = problem(&deep(open, close, most + 1)).unwrap_or_default();
            assert!(found.contains("deeper than"), "{found}");
        }
        assert!(
            problem(&"a".repeat(limits::CONDITION_BYTES + 1)).is_some_and(|found| found.contains("longer"))
        );
    }
}
