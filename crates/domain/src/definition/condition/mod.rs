//! The `if` of a stage: a CEL expression, parsed here so that a mistake shows before anything runs.

mod names;

use std::collections::{BTreeMap, HashMap};

use cel::{Context, Program, Value};

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

/// What is known of a stage before it runs: what its `if` may ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    pub branch: String,
    pub commit_id: String,
    pub environment: String,
    pub pipeline: String,
    pub trigger: String,
    pub variables: BTreeMap<String, String>,
}

/// Whether a checked expression holds; or why that can't be said, as the rest of a sentence that begins with its name.
pub fn holds(expression: &str, circumstances: &Circumstances) -> Result<bool, String> {
    let program = Program::compile(expression).map_err(|_| "is not a CEL expression".to_owned())?;
    let mut context = Context::default();
    let variables: HashMap<String, String> =
        circumstances.variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    context.add_variable_from_value("variables", variables);
    for (name, value) in [
        ("branch", &circumstances.branch),
        ("commitId", &circumstances.commit_id),
        ("environment", &circumstances.environment),
        ("pipeline", &circumstances.pipeline),
        ("trigger", &circumstances.trigger),
    ] {
        context.add_variable_from_value(name, value.as_str());
    }
    match program.execute(&context) {
        Ok(Value::Bool(holds)) => Ok(holds),
        Ok(_) => Err("is neither true nor false".to_owned()),
        Err(error) => Err(format!("can't be worked out: {error}")),
    }
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

    #[test]
    fn an_if_asks_for_the_circumstances() {
        let variables = BTreeMap::from([("REGION".to_owned(), "eu".to_owned())]);
        let circumstances = Circumstances {
            branch: "main".to_owned(),
            environment: "pr-7".to_owned(),
            variables,
            ..Circumstances::default()
        };
        for (expression, expected) in [
            ("branch == \"main\"", Ok(true)),
            ("environment.startsWith(\"qa\")", Ok(false)),
            ("variables.REGION == \"eu\" && \"OTHER\" in variables", Ok(false)),
            ("variables.exists(name, name.startsWith(\"REG\"))", Ok(true)),
            ("branch", Err("is neither true nor false".to_owned())),
        ] {
            assert_eq!(holds(expression, &circumstances), expected, "{expression}");
        }
        assert!(holds("variables.NONE == \"x\"", &circumstances).is_err());
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
