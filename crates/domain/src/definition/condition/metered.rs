//! Rewrites a condition's syntax tree, so that it counts its own steps while it is evaluated.
//!
//! Whatever computes or builds a value (a call, a list, a map) becomes `@charge(@open(@meter), value)`; what a macro goes
//! through becomes `@charge_iterations(@open(@meter), list)`. Names and fields are left as they are: they only refer to
//! what exists already, and the interpreter looks at their shape to find qualified names.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, operators};

use super::meter::{CHARGE, CHARGE_ITERATIONS, METER, OPEN};

pub(super) fn metered(expression: IdedExpr) -> IdedExpr {
    let IdedExpr { id, expr } = expression;
    match expr {
        Expr::Call(_) | Expr::List(_) | Expr::Map(_) | Expr::Struct(_) => {
            charged(CHARGE, IdedExpr { id, expr: inside(expr) })
        }
        other => IdedExpr { id, expr: inside(other) },
    }
}

/// Rewrites the parts of an expression, not the expression itself.
fn inside(expr: Expr) -> Expr {
    match expr {
        Expr::Call(call) => Expr::Call(CallExpr {
            target: call.target.map(|target| Box::new(metered(*target))),
            args: call.args.into_iter().map(metered).collect(),
            ..call
        }),
        Expr::List(mut list) => {
            list.elements = list.elements.into_iter().map(metered).collect();
            Expr::List(list)
        }
        Expr::Map(mut map) => {
            map.entries = map.entries.into_iter().map(entry).collect();
            Expr::Map(map)
        }
        Expr::Struct(mut fields) => {
            fields.entries = fields.entries.into_iter().map(entry).collect();
            Expr::Struct(fields)
        }
        Expr::Select(mut select) => {
            select.operand = Box::new(metered(*select.operand));
            Expr::Select(select)
        }
        Expr::Comprehension(comprehension) => Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: charged(CHARGE_ITERATIONS, metered(comprehension.iter_range)),
            loop_step: loop_step(comprehension.loop_step),
            ..*comprehension
        })),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => expr,
    }
}

fn entry(mut entry: IdedEntryExpr) -> IdedEntryExpr {
    entry.expr = match entry.expr {
        EntryExpr::MapEntry(mut pair) => {
            pair.key = metered(pair.key);
            pair.value = metered(pair.value);
            EntryExpr::MapEntry(pair)
        }
        EntryExpr::StructField(mut field) => {
            field.value = metered(field.value);
            EntryExpr::StructField(field)
        }
    };
    entry
}

/// What a macro does with each element. The interpreter recognizes `result && x`, `result + [x]` and `c ? step : result`
/// by their shape, so the outermost calls stay and what was written by hand inside of them is rewritten. Whatever
/// is added to a macro's result is charged, even a plain name: this is how a `map` would use up the memory.
fn loop_step(step: IdedExpr) -> IdedExpr {
    let IdedExpr { id, expr } = step;
    let expr = match expr {
        Expr::Call(mut call) if call.target.is_none() && call.func_name == operators::CONDITIONAL => {
            call.args = call
                .args
                .into_iter()
                .enumerate()
                .map(|(index, argument)| if index == 0 { metered(argument) } else { loop_step(argument) })
                .collect();
            Expr::Call(call)
        }
        Expr::Call(mut call) if call.target.is_none() => {
            call.args = call.args.into_iter().map(appended).collect();
            Expr::Call(call)
        }
        other => inside(other),
    };
    IdedExpr { id, expr }
}

fn appended(argument: IdedExpr) -> IdedExpr {
    let IdedExpr { id, expr } = argument;
    match expr {
        Expr::List(mut list) => {
            list.elements = list
                .elements
                .into_iter()
                .map(|element| charged(CHARGE, IdedExpr { id: element.id, expr: inside(element.expr) }))
                .collect();
            IdedExpr { id, expr: Expr::List(list) }
        }
        other => metered(IdedExpr { id, expr: other }),
    }
}

fn charged(function: &str, value: IdedExpr) -> IdedExpr {
    let id = value.id;
    let call = |function: &str, args| {
        let expr = Expr::Call(CallExpr { func_name: function.to_owned(), target: None, args });
        IdedExpr { id, expr }
    };
    let meter = IdedExpr { id, expr: Expr::Ident(METER.to_owned()) };
    call(function, vec![call(OPEN, vec![meter]), value])
}

/// How deep macros that go through lists stand inside each other. What a macro goes through does not count as inside.
pub(super) fn depth(expression: &IdedExpr) -> usize {
    fn deepest<'a>(parts: impl Iterator<Item = &'a IdedExpr>) -> usize {
        parts.map(depth).max().unwrap_or(0)
    }
    fn in_entry(entry: &IdedEntryExpr) -> usize {
        match &entry.expr {
            EntryExpr::MapEntry(pair) => depth(&pair.key).max(depth(&pair.value)),
            EntryExpr::StructField(field) => depth(&field.value),
        }
    }
    match &expression.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => 0,
        Expr::Select(select) => depth(&select.operand),
        Expr::Call(call) => deepest(call.target.as_deref().into_iter().chain(&call.args)),
        Expr::List(list) => deepest(list.elements.iter()),
        Expr::Map(map) => map.entries.iter().map(in_entry).max().unwrap_or(0),
        Expr::Struct(fields) => fields.entries.iter().map(in_entry).max().unwrap_or(0),
        Expr::Comprehension(comprehension) => {
            depth(&comprehension.iter_range).max(1 + depth(&comprehension.loop_step))
        }
    }
}
