//! Finds the tenants' tables in a parsed statement that are not restricted to an organization.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Delete, Expr, FromTable, Insert, JoinConstraint, JoinOperator, ObjectName, Query, Select,
    SetExpr, Statement, TableFactor, TableObject, TableWithJoins, Update, UpdateTableFromKind, Value, Visit,
    VisitMut, Visitor, VisitorMut,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

pub struct Checker {
    /// Tenants' tables, and the column of each that holds the organization.
    tenants: HashMap<String, &'static str>,
}

/// The tables of one SELECT, UPDATE or DELETE, by the name that its expressions use.
type Scope = HashMap<String, String>;

impl Checker {
    pub fn of_migrations() -> Self {
        let mut tenants = HashMap::from([("organizations".to_owned(), "id")]);
        for path in crate::system::sources("migrations") {
            let text = std::fs::read_to_string(path).unwrap();
            for table in text.split("create table ").skip(1) {
                let (name, rest) = table.split_once([' ', '(']).unwrap();
                let columns = rest.split(";\n").next().unwrap();
                if columns.contains("organization_id uuid") {
                    tenants.insert(name.to_owned(), "organization_id");
                }
            }
            // A view with the column is checked like a table.
            for view in text.split("create view ").skip(1) {
                let (name, rest) = view.split_once(' ').unwrap();
                if rest.split(";\n").next().unwrap().contains("organization_id") {
                    tenants.insert(name.to_owned(), "organization_id");
                }
            }
        }
        assert!(tenants.len() > 8, "{tenants:?}");
        Self { tenants }
    }

    /// Returns the tables that the statement uses without their organization.
    pub fn unscoped(&self, sql: &str) -> Vec<String> {
        let mut missing = Vec::new();
        for statement in parse(sql) {
            self.statement(&statement, &HashSet::new(), &mut missing);
        }
        missing
    }

    /// Returns every statement that results from replacing one comparison of an organization by `true`.
    pub fn without_one_organization(&self, sql: &str) -> Vec<String> {
        let mut mutants = Vec::new();
        for nth in 0.. {
            let mut statements = parse(sql);
            let mut cutter = Cutter { countdown: nth, done: false };
            for statement in &mut statements {
                let _ = statement.visit(&mut cutter);
            }
            if !cutter.done {
                return mutants;
            }
            mutants.push(statements.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
        }
        mutants
    }

    fn statement(&self, statement: &Statement, outer: &HashSet<String>, missing: &mut Vec<String>) {
        match statement {
            Statement::Query(query) => self.query(query, outer, missing),
            Statement::Insert(insert) => self.insert(insert, outer, missing),
            Statement::Update(update) => self.update(update, outer, missing),
            Statement::Delete(delete) => self.delete(delete, outer, missing),
            other => panic!("the checker does not support this statement: {other}"),
        }
    }

    fn query(&self, query: &Query, outer: &HashSet<String>, missing: &mut Vec<String>) {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.query(&cte.query, outer, missing);
        }
        self.body(&query.body, outer, missing);
    }

    fn body(&self, body: &SetExpr, outer: &HashSet<String>, missing: &mut Vec<String>) {
        match body {
            SetExpr::Select(select) => self.select(select, outer, missing),
            SetExpr::Query(query) => self.query(query, outer, missing),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left, outer, missing);
                self.body(right, outer, missing);
            }
            SetExpr::Insert(statement) | SetExpr::Update(statement) | SetExpr::Delete(statement) => {
                self.statement(statement, outer, missing);
            }
            SetExpr::Values(values) => self.nested(values, outer, missing),
            other => panic!("the checker does not support this query: {other}"),
        }
    }

    fn select(&self, select: &Select, outer: &HashSet<String>, missing: &mut Vec<String>) {
        let mut expressions: Vec<&Expr> = select.selection.iter().collect();
        let tied = self.scope(&select.from, &mut expressions, outer, missing);
        self.nested(&select.projection, &tied, missing);
    }

    fn update(&self, update: &Update, outer: &HashSet<String>, missing: &mut Vec<String>) {
        let mut from = vec![update.table.clone()];
        if let Some(UpdateTableFromKind::BeforeSet(more) | UpdateTableFromKind::AfterSet(more)) = &update.from
        {
            from.extend(more.iter().cloned());
        }
        let mut expressions: Vec<&Expr> = update.selection.iter().collect();
        let tied = self.scope(&from, &mut expressions, outer, missing);
        self.nested(&update.assignments, &tied, missing);
    }

    fn delete(&self, delete: &Delete, outer: &HashSet<String>, missing: &mut Vec<String>) {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let mut from = from.clone();
        from.extend(delete.using.iter().flatten().cloned());
        let mut expressions: Vec<&Expr> = delete.selection.iter().collect();
        self.scope(&from, &mut expressions, outer, missing);
    }

    fn insert(&self, insert: &Insert, outer: &HashSet<String>, missing: &mut Vec<String>) {
        let TableObject::TableName(name) = &insert.table else { panic!("unknown target: {insert}") };
        if let Some(column) = self.tenants.get(&last(name)) {
            let at = insert.columns.iter().position(|given| last(given) == *column);
            if at.is_none() {
                missing.push(format!("insert into {name}"));
            }
        }
        if let Some(source) = &insert.source {
            self.query(source, outer, missing);
        }
    }

    /// Checks one scope. Returns those of its names that are tied to an organization.
    fn scope<'a>(
        &self,
        from: &'a [TableWithJoins],
        expressions: &mut Vec<&'a Expr>,
        outer: &HashSet<String>,
        missing: &mut Vec<String>,
    ) -> HashSet<String> {
        let mut scope = Scope::new();
        let mut derived: Vec<&Query> = Vec::new();
        for table in from {
            relation(&table.relation, &mut scope, &mut derived);
            for join in &table.joins {
                relation(&join.relation, &mut scope, &mut derived);
                expressions.extend(condition(&join.join_operator));
            }
        }
        let mut equalities = Vec::new();
        for expression in expressions.iter() {
            conjuncts(expression, &mut equalities);
        }
        let tied = self.tied(&scope, &equalities, outer);
        for (name, table) in &scope {
            if self.tenants.contains_key(table) && !tied.contains(name) {
                missing.push(format!("{table} as {name}"));
            }
        }
        for query in derived {
            self.query(query, &tied, missing);
        }
        for expression in expressions.iter() {
            self.nested(*expression, &tied, missing);
        }
        tied
    }

    /// Follows equalities from parameters, and from names outside that are tied, to this scope's tables.
    fn tied(&self, scope: &Scope, equalities: &[(&Expr, &Expr)], outer: &HashSet<String>) -> HashSet<String> {
        let mut tied: HashSet<String> =
            outer.iter().filter(|name| !scope.contains_key(*name)).cloned().collect();
        loop {
            let before = tied.len();
            for (left, right) in equalities {
                for (one, other) in [(left, right), (right, left)] {
                    if let Some(name) = self.organization_of(one, scope)
                        && (is_parameter(other)
                            || self.organization_of(other, scope).is_some_and(|name| tied.contains(&name))
                            || qualifier(other)
                                .is_some_and(|name| !scope.contains_key(&name) && outer.contains(&name)))
                    {
                        tied.insert(name);
                    }
                }
            }
            if tied.len() == before {
                return tied;
            }
        }
    }

    /// Returns the name in scope whose organization this expression is.
    fn organization_of(&self, expression: &Expr, scope: &Scope) -> Option<String> {
        let of = |name: &str, column: &str| {
            scope.get(name).and_then(|table| self.tenants.get(table)).is_some_and(|own| *own == column)
        };
        match expression {
            Expr::CompoundIdentifier(parts) => {
                let [name, column] = parts.as_slice() else { return None };
                of(&name.value, &column.value).then(|| name.value.clone())
            }
            Expr::Identifier(column) => {
                let mut owners = scope.keys().filter(|name| of(name, &column.value));
                let owner = owners.next()?;
                owners.next().is_none().then(|| owner.clone())
            }
            _ => None,
        }
    }

    /// Checks queries inside of expressions.
    fn nested(&self, node: &(impl Visit + ?Sized), tied: &HashSet<String>, missing: &mut Vec<String>) {
        struct Finder(Vec<Query>);
        impl Visitor for Finder {
            type Break = ();
            fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
                self.0.push(query.clone());
                ControlFlow::Continue(())
            }
        }
        let mut finder = Finder(Vec::new());
        let _ = node.visit(&mut finder);
        for query in finder.0 {
            self.query(&query, tied, missing);
        }
    }
}

fn parse(sql: &str) -> Vec<Statement> {
    // The parser does not support this lock strength, which does not matter here.
    let sql = &sql.replace("for no key update", "for update");
    Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap_or_else(|error| panic!("{error} in\n{sql}"))
}

fn relation<'a>(factor: &'a TableFactor, scope: &mut Scope, derived: &mut Vec<&'a Query>) {
    match factor {
        TableFactor::Table { name, alias, .. } => {
            let table = last(name);
            let known_as = alias.as_ref().map_or_else(|| table.clone(), |alias| alias.name.value.clone());
            scope.insert(known_as, table);
        }
        TableFactor::Derived { subquery, .. } => derived.push(subquery),
        TableFactor::NestedJoin { table_with_joins, .. } => {
            relation(&table_with_joins.relation, scope, derived);
            for join in &table_with_joins.joins {
                relation(&join.relation, scope, derived);
            }
        }
        _ => {}
    }
}

fn condition(operator: &JoinOperator) -> Option<&Expr> {
    match operator {
        JoinOperator::Join(JoinConstraint::On(on))
        | JoinOperator::Inner(JoinConstraint::On(on))
        | JoinOperator::Left(JoinConstraint::On(on))
        | JoinOperator::LeftOuter(JoinConstraint::On(on)) => Some(on),
        _ => None,
    }
}

/// Collects the equalities that must all hold. An equality below an OR ties nothing.
fn conjuncts<'a>(expression: &'a Expr, equalities: &mut Vec<(&'a Expr, &'a Expr)>) {
    match expression {
        Expr::Nested(inner) => conjuncts(inner, equalities),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            conjuncts(left, equalities);
            conjuncts(right, equalities);
        }
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => equalities.push((left, right)),
        _ => {}
    }
}

fn is_parameter(expression: &Expr) -> bool {
    matches!(expression, Expr::Value(value) if matches!(value.value, Value::Placeholder(_)))
}

fn qualifier(expression: &Expr) -> Option<String> {
    match expression {
        Expr::CompoundIdentifier(parts) => parts.first().map(|name| name.value.clone()),
        _ => None,
    }
}

fn last(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map_or_else(String::new, |ident| ident.value.clone())
}

/// Replaces the nth comparison of an organization by `true`.
struct Cutter {
    countdown: usize,
    done: bool,
}

impl VisitorMut for Cutter {
    type Break = ();

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        let names_organization = |side: &Expr| match side {
            Expr::Identifier(column) => column.value == "organization_id",
            Expr::CompoundIdentifier(parts) => {
                parts.last().is_some_and(|part| part.value == "organization_id")
            }
            _ => false,
        };
        if let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = expression
            && (names_organization(left) || names_organization(right))
        {
            if self.countdown == 0 && !self.done {
                *expression = Expr::Value(Value::Boolean(true).into());
                self.done = true;
            } else {
                self.countdown = self.countdown.saturating_sub(1);
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scoped_and_unscoped_statements_are_distinguished() {
        let checker = Checker::of_migrations();
        let good = [
            "select 1 from pipelines where organization_id = $1",
            "select 1 from pipelines p join memberships m on m.organization_id = p.organization_id where p.organization_id = $1",
            "select 1 from organizations where id = $1",
            "select (select min(e.sequence) from events e where e.organization_id = h.organization_id) from event_heads h where h.organization_id = $1",
            "insert into pipelines (organization_id, id) values ($1, $2)",
            "update pipelines set name = $1 where (organization_id = $2 and id = $3)",
        ];
        let bad = [
            "select 1 from pipelines",
            "select 1 from pipelines where id = $1",
            "select 1 from pipelines where organization_id = $1 or id = $2",
            "select 1 from pipelines where organization_id = organization_id",
            "select 1 from pipelines p join memberships m on m.organization_id = p.organization_id",
            "select 1 from pipelines p, memberships m where m.organization_id = $1",
            "select (select min(e.sequence) from events e) from event_heads h where h.organization_id = $1",
            "with all_of_them as (select * from pipelines) select 1 from all_of_them",
            "insert into pipelines (id) values ($1)",
            "insert into pipelines (organization_id, id) select $1, id from pipelines",
            "insert into pipelines (organization_id, id) values ($1, (select id from pipelines where slug = $2))",
            "update pipelines set name = $1 where id = $2",
            "delete from pipelines where id in (select id from memberships where organization_id = $1)",
        ];
        for sql in good {
            assert_eq!(checker.unscoped(sql), Vec::<String>::new(), "{sql}");
        }
        for sql in bad {
            assert!(!checker.unscoped(sql).is_empty(), "{sql}");
        }
    }
}
