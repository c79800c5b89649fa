//! The names that an expression may use. The list of references that the parser returns contains names that a
//! macro binds (`x` in `list.exists(x, …)`) and has no order, so this module walks the tree.

use cel::IdedExpr;
use cel::common::ast::{ComprehensionExpr, EntryExpr, Expr};
use indexmap::IndexSet;

/// The names of the values in the context of a condition.
pub(in crate::definition) const NAMES: [&str; 6] =
    ["branch", "commitId", "environment", "pipeline", "trigger", "variables"];

/// Returns every other name, in the order of the expression. Recurses less deeply than the parser, whose
/// limits bound it.
pub(super) fn unknown(expression: &IdedExpr) -> Vec<String> {
    search(expression).unknown.into_iter().map(str::to_owned).collect()
}

/// Returns whether an expression uses one of [`NAMES`].
pub(super) fn uses(expression: &IdedExpr, name: &str) -> bool {
    search(expression).used.contains(name)
}

fn search(expression: &IdedExpr) -> Search<'_> {
    let mut search = Search::default();
    search.walk(expression);
    search
}

#[derive(Default)]
struct Search<'a> {
    unknown: IndexSet<&'a str>,
    /// Those of [`NAMES`] that the expression uses.
    used: IndexSet<&'a str>,
    /// The names that the enclosing macros bind, the innermost last.
    bound: Vec<&'a str>,
}

impl<'a> Search<'a> {
    fn walk(&mut self, expression: &'a IdedExpr) {
        match &expression.expr {
            Expr::Unspecified | Expr::Literal(_) => {}
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => self.walk(&select.operand),
            Expr::Call(call) => {
                call.target.iter().for_each(|target| self.walk(target));
                call.args.iter().for_each(|argument| self.walk(argument));
            }
            Expr::List(list) => list.elements.iter().for_each(|element| self.walk(element)),
            Expr::Map(map) => map.entries.iter().for_each(|entry| self.entry(&entry.expr)),
            Expr::Struct(fields) => fields.entries.iter().for_each(|entry| self.entry(&entry.expr)),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    fn entry(&mut self, entry: &'a EntryExpr) {
        match entry {
            EntryExpr::StructField(field) => self.walk(&field.value),
            EntryExpr::MapEntry(entry) => {
                self.walk(&entry.key);
                self.walk(&entry.value);
            }
        }
    }

    /// A macro such as `exists` is parsed to this. The list that it iterates over can't use the names that it
    /// binds.
    fn comprehension(&mut self, comprehension: &'a ComprehensionExpr) {
        self.walk(&comprehension.iter_range);
        self.walk(&comprehension.accu_init);
        let outer = self.bound.len();
        self.bound.push(&comprehension.accu_var);
        self.bound.push(&comprehension.iter_var);
        self.bound.extend(comprehension.iter_var2.as_deref());
        self.walk(&comprehension.loop_cond);
        self.walk(&comprehension.loop_step);
        self.walk(&comprehension.result);
        self.bound.truncate(outer);
    }

    /// A name with a leading dot does not refer to bound names.
    fn name(&mut self, written: &'a str) {
        let name = written.strip_prefix('.').unwrap_or(written);
        let bound = name == written && self.bound.contains(&name);
        if bound {
            return;
        }
        if NAMES.contains(&name) {
            self.used.insert(name);
        } else {
            self.unknown.insert(name);
        }
    }
}
