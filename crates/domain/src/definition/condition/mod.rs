//! The `if` of a stage: a CEL expression, parsed here so that a mistake shows before anything runs.

mod meter;
mod metered;
mod names;

use std::collections::{BTreeMap, HashMap};

use cel::{Context, Program, Value};

use super::diagnostic::quote;
use super::limits;
use meter::Meter;
pub use meter::{Expired, Limit};
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
    if metered::depth(program.expression()) > limits::CONDITION_LOOPS {
        return Err(format!(
            "nests macros such as `all`, `exists` and `map` deeper than {} levels",
            limits::CONDITION_LOOPS
        ));
    }
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

/// Why a condition has no value. The text is the rest of a sentence that begins with the condition's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoValue {
    Invalid(String),
    Limit(Limit),
}

impl std::fmt::Display for NoValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Invalid(problem) => f.write_str(problem),
            Self::Limit(Limit::Steps) => {
                write!(f, "takes more than {} steps to evaluate", limits::CONDITION_STEPS)
            }
            Self::Limit(Limit::Time) => {
                write!(f, "takes more than {} ms to evaluate", limits::CONDITION_TIME.as_millis())
            }
        }
    }
}

/// Whether a checked expression holds. The evaluation ends after `CONDITION_STEPS` steps, or when the time that `start`
/// measures is over. It computes all the while and recurses as deep as the expression nests, so it belongs on a thread of
/// its own, with a stack of `CONDITION_STACK_BYTES`.
pub fn holds(
    expression: &str,
    circumstances: &Circumstances,
    start: &dyn Fn() -> Expired,
) -> Result<bool, NoValue> {
    let invalid = |problem: &str| NoValue::Invalid(problem.to_owned());
    if start()() {
        return Err(NoValue::Limit(Limit::Time));
    }
    let program = Program::compile(expression).map_err(|_| invalid("is not a CEL expression"))?;
    let expression = metered::metered(program.expression().clone());
    let meter = Meter::new(start());
    let mut context = Context::with_env(meter::env().ok_or_else(|| invalid("can't be evaluated"))?);
    context.add_variable_as_val(meter::METER, Box::new(meter.clone()));
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
    let value = Value::resolve(&expression, &context);
    if let Some(limit) = meter.limit() {
        return Err(NoValue::Limit(limit));
    }
    match value {
        Ok(Value::Bool(holds)) => Ok(holds),
        Ok(_) => Err(invalid("is neither true nor false")),
        Err(error) => Err(NoValue::Invalid(format!("can't be worked out: {error}"))),
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    fn problem(expression: &str) -> Option<String> {
        unknown_names(expression).err()
    }

    fn evaluate(expression: &str, circumstances: &Circumstances) -> Result<bool, NoValue> {
        let (expression, circumstances) = (expression.to_owned(), circumstances.clone());
        let thread = std::thread::Builder::new().stack_size(limits::CONDITION_STACK_BYTES);
        let evaluation = thread.spawn(move || holds(&expression, &circumstances, &|| Arc::new(|| false)));
        evaluation.unwrap().join().unwrap()
    }

    fn hundred_variables() -> Circumstances {
        let variables = (0..100).map(|n| (format!("V{n}"), "x".repeat(100))).collect();
        Circumstances { branch: "main".to_owned(), variables, ..Circumstances::default() }
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
            ("branch", Err(NoValue::Invalid("is neither true nor false".to_owned()))),
        ] {
            assert_eq!(evaluate(expression, &circumstances), expected, "{expression}");
        }
        assert!(evaluate("variables.NONE == \"x\"", &circumstances).is_err());
    }

    /// Every way to make work or data out of a short text that we know of.
    #[test]
    fn an_evaluation_ends_at_its_limit() {
        let loops = |levels: usize| {
            let open = (0..levels).map(|n| format!("variables.all(a{n},")).collect::<String>();
            format!("{open}true{}", ")".repeat(levels))
        };
        let doubling = |start: &str, step: &str| format!("{start}{}.size()>0", step.repeat(60));
        for expression in [
            loops(6),
            loops(3),
            "variables.map(a,variables.map(b,variables.map(c,c+c))).size()>0".to_owned(),
            "variables.map(a,variables).map(b,variables).size()>0".to_owned(),
            "variables.map(a,variables.map(b,variables)).size()>0".to_owned(),
            "variables.exists(a,variables.exists(b,variables.exists(c,false)))||true".to_owned(),
            doubling("[branch]", ".map(x,x+x)"),
            doubling("[[branch]]", ".map(x,x+x)"),
            doubling("[[branch]]", ".map(x,[x,x])"),
            doubling("[branch]", ".map(x,{'a':x,'b':x})"),
        ] {
            let found = evaluate(&expression, &hundred_variables());
            assert_eq!(found, Err(NoValue::Limit(Limit::Steps)), "{expression}");
        }
        let expression = "variables.all(a, variables.exists(b, a == b && b.size() > 1))";
        assert_eq!(evaluate(expression, &hundred_variables()), Ok(true));
    }

    #[test]
    fn an_evaluation_ends_with_its_time() {
        let calls = Arc::new(AtomicU64::new(0));
        let start = || -> Expired {
            let calls = Arc::clone(&calls);
            Arc::new(move || calls.fetch_add(1, Ordering::Relaxed) >= 10)
        };
        let expression = "variables.all(a,a.size()>0)||variables.all(a,true)";
        let found = holds(expression, &hundred_variables(), &start);
        assert_eq!(found, Err(NoValue::Limit(Limit::Time)));
        assert_eq!(calls.load(Ordering::Relaxed), 11, "the clock is not read any more once time is over");
    }

    #[test]
    fn macros_nest_two_deep() {
        for (expression, fits) in [
            ("variables.all(a, variables.exists(b, a == b))", true),
            ("variables.filter(a, true).map(a, a).filter(b, true).exists(c, true)", true),
            ("variables.all(a, [a].map(x, x).exists(b, [b].all(c, true)))", false),
            ("variables.all(a, variables.all(b, variables.all(c, true)))", false),
            ("true ? false : [1].all(a, [a].all(b, [b].exists_one(c, c > 0)))", false),
        ] {
            assert_eq!(problem(expression).is_none(), fits, "{expression}: {:?}", problem(expression));
        }
    }

    /// The worst that the limits let through, in a debug build: read on a test's stack of 2 MiB, evaluated on its own.
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
            let _whatever = evaluate(&expression, &Circumstances::default());
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
