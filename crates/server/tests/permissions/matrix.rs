//! Walks every operation of the API's document × everybody who might ask. What came out is `matrix.snap` and
//! `matrix_of_scopes.snap`, for review.

use std::collections::BTreeMap;
use std::fmt::Write;

use reqwest::Method;
use sqlx::PgPool;
use uuid::Uuid;

use crate::answer::Answer;
use crate::content;
use crate::operations::{OWNER, ROWS, Right, Role, Row, Target};
use crate::world::{Asker, Standing, World};

#[test]
fn every_operation_has_its_row() {
    let operations = operations();
    let mut wrong = Vec::new();
    for (operation, (call, public)) in &operations {
        match ROWS.iter().find(|row| row.operation == operation) {
            None => wrong.push(format!("`{operation}` ({call}) has no row in operations.rs")),
            Some(row) if format!("{} {}", row.method, row.path) != *call => {
                wrong.push(format!(
                    "the row of `{operation}` calls {} {}; it is {call}",
                    row.method, row.path
                ));
            }
            Some(row) if (row.right == Right::Public) != *public => {
                wrong.push(format!(
                    "`{operation}` is public in the document ({public}) or in its row, but not in both"
                ));
            }
            Some(_) => {}
        }
    }
    for (at, row) in ROWS.iter().enumerate() {
        if !operations.contains_key(row.operation) {
            wrong.push(format!("the row `{}` stands for no operation of the document", row.operation));
        }
        if ROWS[..at].iter().any(|other| other.operation == row.operation) {
            wrong.push(format!("`{}` has two rows", row.operation));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The document's operations: id → method and path, and whether it asks for no token.
fn operations() -> BTreeMap<String, (String, bool)> {
    let document = serde_json::to_value(greenroom_server::http::document()).unwrap();
    let mut operations = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in
            item.as_object().unwrap().iter().filter(|(_, part)| part["responses"].is_object())
        {
            let call = format!("{} {path}", method.to_uppercase());
            let id = operation["operationId"].as_str().map_or_else(|| call.clone(), str::to_owned);
            let asks_for = operation.get("security").unwrap_or(&document["security"]).as_array().unwrap();
            let public =
                asks_for.iter().all(|scheme| scheme.as_object().is_some_and(serde_json::Map::is_empty));
            operations.insert(id, (call, public));
        }
    }
    assert!(operations.len() > 20, "{operations:?}");
    operations
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn every_operation_for_everybody(pool: PgPool) {
    let world = World::new(&pool).await;
    let table = walk(&world, &world.askers().await, true).await;
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("matrix", table);
    });
    world.server.stop().await;
}

/// The same with tokens that can do less than their user, all of them an owner's: by scope, by kind, and limited to a pipeline.
/// A `*` stands for a member who is not the holder of the session.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn every_operation_for_every_scope(pool: PgPool) {
    let world = World::new(&pool).await;
    let table = walk(&world, &world.narrower_askers().await, false).await;
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("matrix_of_scopes", table);
    });
    world.server.stop().await;
}

/// Every operation for each of these, as a table.
async fn walk(world: &World, askers: &[Asker], foreign: bool) -> String {
    let mut walk = Walk { world, answers: String::new(), wrong: Vec::new() };
    let columns: Vec<&str> =
        askers.iter().map(|asker| asker.name).chain(foreign.then_some("foreign")).collect();
    let mut table = format!("{:<24}{}", "operation", columns.join("  "));
    for row in ROWS {
        write!(table, "\n{:<22}", row.operation).unwrap();
        for (column, status) in columns.iter().zip(walk.row(row, askers, foreign).await) {
            write!(table, "  {status:<width$}", width = column.len()).unwrap();
        }
    }
    let table: Vec<&str> = table.lines().map(str::trim_end).collect();
    let table = table.join("\n");

    assert!(walk.wrong.is_empty(), "\n{}\n{table}", walk.wrong.join("\n"));
    let secrets: Vec<&str> = askers.iter().filter_map(|asker| asker.token.as_deref()).collect();
    assert_eq!(content::traces_of(secrets.iter().copied(), &walk.answers), Vec::<String>::new());
    assert_eq!(content::traces_of(secrets, &content::dump(&world.pool).await), Vec::<String>::new());
    table
}

struct Walk<'a> {
    world: &'a World,
    /// All bodies, one after the other.
    answers: String,
    wrong: Vec<String>,
}

impl Walk<'_> {
    /// The statuses of one operation, in the order of the askers, and that of the stranger who asks for this
    /// organization's record under their own.
    async fn row(&mut self, row: &Row, askers: &[Asker], foreign: bool) -> Vec<String> {
        let (world, own) = (self.world, self.world.owner.organization.as_str());
        let id = world.target(row.target, &world.owner.token).await;
        // What is its holder's is refused to a token of that holder, which has only other scopes.
        let scoped = askers.iter().find(|asker| matches!(asker.standing, Standing::Scoped(_)));
        let held = match scoped.and_then(|asker| asker.maker.as_deref()).filter(|_| row.is_holders()) {
            Some(maker) => world.target(row.target, maker).await,
            None => id.clone(),
        };
        let before = content::fingerprint(&world.pool).await;
        let mut statuses = Vec::new();
        // First all who are refused: for them nothing may change.
        for asker in askers {
            let status = match expected(row, asker.standing) {
                Expected::Success => None,
                Expected::Nothing => Some("–".to_owned()),
                Expected::Refusal(status, code) => {
                    let id = if matches!(asker.standing, Standing::Scoped(_)) { &held } else { &id };
                    self.refused(row, asker, (own, id), (status, code)).await;
                    Some(status.to_string())
                }
            };
            statuses.push(status);
        }
        let foreign = if foreign { Some(self.foreign(row, &id).await) } else { None };
        if content::fingerprint(&world.pool).await != before {
            self.wrong.push(format!("{}: a call that was refused has changed something", row.operation));
        }
        // Then all who are not, each with a record of its own.
        for (asker, status) in askers.iter().zip(&mut statuses) {
            if status.is_none() {
                let maker = match asker.standing {
                    // Only sessions are somebody else's.
                    Standing::NonHolder(_) if !row.is_holders() => &asker.token,
                    _ => &asker.maker,
                };
                let target = world.target(row.target, maker.as_deref().unwrap_or_default()).await;
                let token = match asker.standing {
                    Standing::Within => Some(world.token_within(asker, &target).await),
                    _ => asker.token.clone(),
                };
                let answer = self.call(row, &row.path(own, &target), token.as_deref()).await;
                if answer.status != row.success {
                    self.wrong.push(format!(
                        "{} by {}: {} {}",
                        row.operation, asker.name, answer.status, answer.text
                    ));
                }
                *status = Some(answer.status.to_string());
            }
        }
        statuses.into_iter().map(Option::unwrap_or_default).chain(foreign).collect()
    }

    async fn refused(
        &mut self,
        row: &Row,
        asker: &Asker,
        (organization, id): (&str, &str),
        (status, code): (u16, &str),
    ) {
        let token = asker.token.as_deref();
        let answer = self.call(row, &row.path(organization, id), token).await;
        if let Some(wrong) = answer.not_refused_as(status, code) {
            self.wrong.push(format!("{} by {}: {wrong}", row.operation, asker.name));
        }
        if code == "scope_missing" && answer.json["requiredScope"] != row.scope {
            self.wrong.push(format!("{} by {}: {}", row.operation, asker.name, answer.text));
        }
        if asker.standing == Standing::Stranger {
            // By its slug, and where there is no organization at all, it has to look the same.
            let nowhere = format!("org_{}", Uuid::now_v7());
            for other in ["acme", nowhere.as_str(), "no-such-organization"] {
                let same = self.call(row, &row.path(other, id), token).await;
                if same.face() != answer.face() {
                    self.wrong.push(format!("{}: a stranger can tell {other}: {}", row.operation, same.text));
                }
            }
        }
    }

    /// The stranger asks for this organization's record as if it were one of their own.
    async fn foreign(&mut self, row: &Row, id: &str) -> String {
        if row.target == Target::Nothing {
            return "–".to_owned();
        }
        let (own, token) = (&self.world.stranger.organization, &self.world.stranger.token);
        let answer = self.call(row, &row.path(own, id), Some(token)).await;
        let unknown = format!("{}_{}", &id[..3], Uuid::now_v7());
        let nothing = self.call(row, &row.path(own, &unknown), Some(token)).await;
        if let Some(wrong) = answer.not_refused_as(404, "not_found") {
            self.wrong.push(format!("{} of another's record: {wrong}", row.operation));
        }
        if nothing.face() != answer.face() {
            self.wrong
                .push(format!("{}: another's record is told from none: {}", row.operation, nothing.text));
        }
        answer.status.to_string()
    }

    async fn call(&mut self, row: &Row, path: &str, token: Option<&str>) -> Answer {
        let method = Method::from_bytes(row.method.as_bytes()).unwrap();
        let body = row.body(&self.world.word()).map(|body| {
            let text = body.to_string().replace(OWNER, &self.world.owner.user);
            serde_json::from_str(&text).unwrap()
        });
        let answer = self.world.server.ask(method, path, token, body).await;
        self.answers += &answer.text;
        answer
    }
}

/// What has to come of a call.
enum Expected {
    Success,
    Refusal(u16, &'static str),
    /// There is nothing to call.
    Nothing,
}

fn expected(row: &Row, standing: Standing) -> Expected {
    let when = |allowed: bool, status: u16, code: &'static str| {
        if allowed { Expected::Success } else { Expected::Refusal(status, code) }
    };
    let by_role = |role: Role| match row.right {
        Right::Public | Right::AnyToken => Expected::Success,
        Right::Least(least) => when(role >= least, 403, "forbidden"),
    };
    match standing {
        Standing::Nobody => when(row.right == Right::Public, 401, "unauthenticated"),
        Standing::Stranger => when(!matches!(row.right, Right::Least(_)), 404, "not_found"),
        Standing::Member(role) => by_role(role),
        // Of what is its holder's, others may only end it, from the role maintainer on.
        Standing::NonHolder(role) if row.is_holders() => {
            when(row.operation == "release_session" && role >= Role::Maintainer, 403, "forbidden")
        }
        Standing::NonHolder(role) => by_role(role),
        Standing::Scoped(scopes) => {
            when(row.scope.is_empty() || scopes.contains(&row.scope), 403, "scope_missing")
        }
        Standing::Elsewhere if row.is_of_pipeline() || row.target == Target::Event => {
            Expected::Refusal(404, "not_found")
        }
        Standing::Elsewhere => when(row.scope.is_empty() || row.narrows(), 403, "token_limited"),
        Standing::Within if row.is_of_pipeline() => Expected::Success,
        Standing::Within => Expected::Nothing,
    }
}
