//! The `if` of a stage: a CEL expression, parsed when the definition is checked, so that a mistake is
//! reported before anything runs.

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

/// Returns the names in an expression that are not in [`NAMES`]; or what is wrong with the expression, as the
/// rest of a sentence that starts with the name of the condition.
pub(super) fn unknown_names(expression: &str) -> Result<Vec<String>, String> {
    if expression.trim().is_empty() {
        return Err("is empty; leave it out to run always".to_owned());
    }
    if expression.len() > limits::CONDITION_BYTES {
        return Err(format!("is longer than {} bytes", limits::CONDITION_BYTES));
    }
    // The parser recurses for each bracket, and a stack overflow would end the whole process.
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

/// Returns whether the value of a checked expression depends on the branch. Recurses like [`evaluate_condition`].
pub fn uses_branch(expression: &str) -> bool {
    Program::compile(expression).is_ok_and(|program| names::uses(program.expression(), "branch"))
}

/// The values that the `if` of a stage can use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConditionContext {
    pub branch: String,
    pub commit_id: String,
    pub environment: String,
    pub pipeline: String,
    pub trigger: String,
    pub variables: BTreeMap<String, String>,
}

/// Why a condition has no value. The text is the rest of a sentence that starts with the name of the
/// condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionError {
    Invalid(String),
    Limit(Limit),
}

impl std::fmt::Display for ConditionError {
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

/// Returns the value of a checked expression. The evaluation ends after `CONDITION_STEPS` steps, or when the
/// time that `start` measures is over. It blocks and recurses as deep as the expression nests, so it belongs
/// on its own thread with a stack of `CONDITION_STACK_BYTES`.
pub fn evaluate_condition(
    expression: &str,
    input: &ConditionContext,
    start: &dyn Fn() -> Expired,
) -> Result<bool, ConditionError> {
    let invalid = |problem: &str| ConditionError::Invalid(problem.to_owned());
    if start()() {
        return Err(ConditionError::Limit(Limit::Time));
    }
    let program = Program::compile(expression).map_err(|_| invalid("is not a CEL expression"))?;
    let expression = metered::add_meter(program.expression().clone());
    let meter = Meter::new(start());
    let mut context = Context::with_env(meter::env().ok_or_else(|| invalid("can't be evaluated"))?);
    context.add_variable_as_val(meter::METER, Box::new(meter.clone()));
    let variables: HashMap<String, String> =
        input.variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    context.add_variable_from_value("variables", variables);
    for (name, value) in [
        ("branch", &input.branch),
        ("commitId", &input.commit_id),
        ("environment", &input.environment),
        ("pipeline", &input.pipeline),
        ("trigger", &input.trigger),
    ] {
        context.add_variable_from_value(name, value.as_str());
    }
    let value = Value::resolve(&expression, &context);
    if let Some(limit) = meter.limit() {
        return Err(ConditionError::Limit(limit));
    }
    match value {
        Ok(Value::Bool(value)) => Ok(value),
        Ok(_) => Err(invalid("is neither true nor false")),
        Err(error) => Err(ConditionError::Invalid(format!("can't be worked out: {error}"))),
    }
}

/// Brackets in text literals count too: only the parser that this check protects could distinguish them.
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

/// The parser's message contains internal token names. What helps the user is the position and the unexpected
/// text.
fn reason(message: &str, (line, column): (isize, isize)) -> String {
    if message.contains("'<EOF>'") {
        return ": it ends too early".to_owned();
    }
    let place = if line > 1 {
        format!("line {line}, character {column} of it")
    } else {
        format!("character {column}")
    };
    let token = message.split_once('\'').and_then(|(_, rest)| rest.split('\'').find(|part| !part.is_empty()));
    match token.filter(|_| message.starts_with("Syntax error")) {
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

    fn evaluate(expression: &str, input: &ConditionContext) -> Result<bool, ConditionError> {
        let (expression, input) = (expression.to_owned(), input.clone());
        let thread = std::thread::Builder::new().stack_size(limits::CONDITION_STACK_BYTES);
        let evaluation =
            thread.spawn(move || evaluate_condition(&expression, &input, &|| Arc::new(|| false)));
        evaluation.unwrap().join().unwrap()
    }

    fn hundred_variables() -> ConditionContext {
        let variables = (0..100).map(|n| (format!("V{n}"), "x".repeat(100))).collect();
        ConditionContext { branch: "main".to_owned(), variables, ..ConditionContext::default() }
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
    fn a_condition_uses_the_branch_by_its_name_only() {
        for (expression, expected) in [
            ("branch == 'main'", true),
            ("trigger == 'fix' || !branch.startsWith('wip/')", true),
            (".branch == 'main'", true),
            ("variables.branch == 'main'", false),
            ("environment == 'branch'", false),
            ("variables.exists(branch, branch == 'main')", false),
            ("branch ==", false),
        ] {
            assert_eq!(uses_branch(expression), expected, "{expression}");
        }
    }

    #[test]
    fn an_if_can_use_the_context() {
        let variables = BTreeMap::from([("REGION".to_owned(), "eu".to_owned())]);
        let input = ConditionContext {
            branch: "main".to_owned(),
            environment: "pr-7".to_owned(),
            variables,
            ..ConditionContext::default()
        };
        for (expression, expected) in [
            ("branch == \"main\"", Ok(true)),
            ("environment.startsWith(\"qa\")", Ok(false)),
            ("variables.REGION == \"eu\" && \"OTHER\" in variables", Ok(false)),
            ("variables.exists(name, name.startsWith(\"REG\"))", Ok(true)),
            ("branch", Err(ConditionError::Invalid("is neither true nor false".to_owned()))),
        ] {
            assert_eq!(evaluate(expression, &input), expected, "{expression}");
        }
        assert!(evaluate("variables.NONE == \"x\"", &input).is_err());
    }

    /// All known attacks in which a short text causes much work or data.
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
            assert_eq!(found, Err(ConditionError::Limit(Limit::Steps)), "{expression}");
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
        let found = evaluate_condition(expression, &hundred_variables(), &start);
        assert_eq!(found, Err(ConditionError::Limit(Limit::Time)));
        assert_eq!(calls.load(Ordering::Relaxed), 11, "the clock is not read again after the timeout");
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

    /// The worst cases within the limits, in a debug build: parsed on the stack of a test (2 MiB), evaluated
    /// on a larger one.
    #[test]
    fn the_limits_fit_the_stack() {
        let deep = |open: &str, close: &str, levels: usize| {
            format!("{}a{}", open.repeat(levels), close.repeat(levels))
        };
        let fill = |part: &str, room: usize| part.repeat(room / part.len());
        let max_nesting = limits::CONDITION_NESTING;
        let room = limits::CONDITION_BYTES - 64;
        for expression in [
            deep("(", ")", max_nesting),
            deep("[", "]", max_nesting),
            deep("f(", ")", max_nesting),
            format!("{}a{}{}", "f(".repeat(max_nesting), fill(".b", room), ")".repeat(max_nesting)),
            format!("{}a{}{}", "(".repeat(max_nesting), fill("==b", room), ")".repeat(max_nesting)),
            format!("{}a{}", "(".repeat(max_nesting), fill("?b:c", room)),
            fill("a?b:", room),
            format!("a{}", fill("[0]", room)),
            format!("a{}", fill(".b", room)),
            format!("a{}", fill("-1", room)),
            format!("a{}", fill(".map(x,x)", room)),
            format!("{}a{}", "[a].map(x,".repeat(max_nesting), ")".repeat(max_nesting)),
            fill("!", room),
        ] {
            let _ignored = problem(&expression);
            let _ignored = evaluate(&expression, &ConditionContext::default());
        }
        for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("f(", ")")] {
            let found = problem(&deep(open, close, max_nesting + 1)).unwrap_or_default();
            assert!(found.contains("deeper than"), "{found}");
        }
        assert!(
            problem(&"a".repeat(limits::CONDITION_BYTES + 1)).is_some_and(|found| found.contains("longer"))
        );
    }
}
