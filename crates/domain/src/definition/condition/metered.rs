//! Rewrites the syntax tree of a condition, so that its evaluation counts its steps.
//!
//! Every expression that computes or builds a value (a call, a list, a map) becomes `@charge(@open(@meter),
//! value)`; the list that a macro iterates over becomes `@charge_iterations(@open(@meter), list)`. Names and
//! fields stay unchanged: they only refer to existing values, and the interpreter depends on their shape to
//! find qualified names.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, operators};

use super::meter::{CHARGE, CHARGE_ITERATIONS, METER, OPEN};

pub(super) fn add_meter(expression: IdedExpr) -> IdedExpr {
    let IdedExpr { id, expr } = expression;
    match expr {
        Expr::Call(_) | Expr::List(_) | Expr::Map(_) | Expr::Struct(_) => {
            charge_call(CHARGE, IdedExpr { id, expr: rewrite_parts(expr) })
        }
        other => IdedExpr { id, expr: rewrite_parts(other) },
    }
}

/// Rewrites the parts of an expression, not the expression itself.
fn rewrite_parts(expr: Expr) -> Expr {
    match expr {
        Expr::Call(call) => Expr::Call(CallExpr {
            target: call.target.map(|target| Box::new(add_meter(*target))),
            args: call.args.into_iter().map(add_meter).collect(),
            ..call
        }),
        Expr::List(mut list) => {
            list.elements = list.elements.into_iter().map(add_meter).collect();
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
            select.operand = Box::new(add_meter(*select.operand));
            Expr::Select(select)
        }
        Expr::Comprehension(comprehension) => Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: charge_call(CHARGE_ITERATIONS, add_meter(comprehension.iter_range)),
            loop_step: loop_step(comprehension.loop_step),
            ..*comprehension
        })),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => expr,
    }
}

fn entry(mut entry: IdedEntryExpr) -> IdedEntryExpr {
    entry.expr = match entry.expr {
        EntryExpr::MapEntry(mut pair) => {
            pair.key = add_meter(pair.key);
            pair.value = add_meter(pair.value);
            EntryExpr::MapEntry(pair)
        }
        EntryExpr::StructField(mut field) => {
            field.value = add_meter(field.value);
            EntryExpr::StructField(field)
        }
    };
    entry
}

/// Rewrites what a macro does with each element. The interpreter recognizes `result && x`, `result + [x]` and
/// `c ? step : result` by their shape, so the outermost calls stay and only the user's expressions inside of
/// them are rewritten. Everything that is added to the result of a macro is charged, even a plain name:
/// otherwise a `map` could exhaust the memory.
fn loop_step(step: IdedExpr) -> IdedExpr {
    let IdedExpr { id, expr } = step;
    let expr = match expr {
        Expr::Call(mut call) if call.target.is_none() && call.func_name == operators::CONDITIONAL => {
            call.args = call
                .args
                .into_iter()
                .enumerate()
                .map(|(index, argument)| if index == 0 { add_meter(argument) } else { loop_step(argument) })
                .collect();
            Expr::Call(call)
        }
        Expr::Call(mut call) if call.target.is_none() => {
            call.args = call.args.into_iter().map(meter_argument).collect();
            Expr::Call(call)
        }
        other => rewrite_parts(other),
    };
    IdedExpr { id, expr }
}

fn meter_argument(argument: IdedExpr) -> IdedExpr {
    let IdedExpr { id, expr } = argument;
    match expr {
        Expr::List(mut list) => {
            list.elements = list
                .elements
                .into_iter()
                .map(|element| {
                    charge_call(CHARGE, IdedExpr { id: element.id, expr: rewrite_parts(element.expr) })
                })
                .collect();
            IdedExpr { id, expr: Expr::List(list) }
        }
        other => add_meter(IdedExpr { id, expr: other }),
    }
}

fn charge_call(function: &str, value: IdedExpr) -> IdedExpr {
    let id = value.id;
    let call = |function: &str, args| {
        let expr = Expr::Call(CallExpr { func_name: function.to_owned(), target: None, args });
        IdedExpr { id, expr }
    };
    let meter = IdedExpr { id, expr: Expr::Ident(METER.to_owned()) };
    call(function, vec![call(OPEN, vec![meter]), value])
}

/// Returns how deep macros that iterate over lists are nested. The list that a macro iterates over does not
/// count.
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
