//! Walks every operation of the API's document × everybody who might ask. What came out is `matrix.snap`, for review.

use std::collections::BTreeMap;
use std::fmt::Write;

use reqwest::Method;
use sqlx::PgPool;
use uuid::Uuid;

use crate::answer::Answer;
use crate::content;
use crate::operations::{OWNER, ROWS, Right, Row, Target};
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
    let askers = world.askers().await;
    let mut walk = Walk { world: &world, answers: String::new(), wrong: Vec::new() };
    let columns: Vec<&str> = askers.iter().map(|asker| asker.name).chain(["foreign"]).collect();
    let mut table = format!("{:<24}{}", "operation", columns.join("  "));
    for row in ROWS {
        write!(table, "\n{:<22}", row.operation).unwrap();
        for (column, status) in columns.iter().zip(walk.row(row, &askers).await) {
            write!(table, "  {status:<width$}", width = column.len()).unwrap();
        }
    }
    let table: Vec<&str> = table.lines().map(str::trim_end).collect();
    let table = table.join("\n");

    assert!(walk.wrong.is_empty(), "\n{}\n{table}", walk.wrong.join("\n"));
    let secrets: Vec<&str> = askers.iter().filter_map(|asker| asker.token.as_deref()).collect();
    assert_eq!(content::traces_of(secrets.iter().copied(), &walk.answers), Vec::<String>::new());
    assert_eq!(content::traces_of(secrets, &content::dump(&pool).await), Vec::<String>::new());
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("matrix", table);
    });
    world.server.stop().await;
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
    async fn row(&mut self, row: &Row, askers: &[Asker]) -> Vec<String> {
        let (world, own) = (self.world, self.world.owner.organization.as_str());
        let id = world.target(row.target, &world.owner.token).await;
        let before = content::fingerprint(&world.pool).await;
        let mut statuses = Vec::new();
        // First all who are refused: for them nothing may change.
        for asker in askers {
            let allowed = allowed(row.right, asker.standing);
            let status = if allowed { None } else { Some(self.refused(row, asker, own, &id).await) };
            statuses.push(status);
        }
        let foreign = self.foreign(row, &id).await;
        if content::fingerprint(&world.pool).await != before {
            self.wrong.push(format!("{}: a call that was refused has changed something", row.operation));
        }
        // Then all who are not, each with a record of its own.
        for (asker, status) in askers.iter().zip(&mut statuses) {
            if status.is_none() {
                let token = asker.token.as_deref();
                let target = world.target(row.target, token.unwrap_or_default()).await;
                let answer = self.call(row, &row.path(own, &target), token).await;
                if answer.status != row.success {
                    self.wrong.push(format!(
                        "{} by {}: {} {}",
                        row.operation, asker.name, answer.status, answer.text
                    ));
                }
                *status = Some(answer.status);
            }
        }
        let shown =
            statuses.into_iter().map(|status| status.map_or_else(String::new, |status| status.to_string()));
        shown.chain([foreign]).collect()
    }

    async fn refused(&mut self, row: &Row, asker: &Asker, organization: &str, id: &str) -> u16 {
        let token = asker.token.as_deref();
        let answer = self.call(row, &row.path(organization, id), token).await;
        let (status, code) = match asker.standing {
            Standing::Nobody => (401, "unauthenticated"),
            Standing::Stranger => (404, "not_found"),
            Standing::Member(_) => (403, "forbidden"),
        };
        if let Some(wrong) = answer.not_refused_as(status, code) {
            self.wrong.push(format!("{} by {}: {wrong}", row.operation, asker.name));
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
        answer.status
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

fn allowed(right: Right, standing: Standing) -> bool {
    match (right, standing) {
        (Right::Public, _) | (Right::AnyToken, Standing::Stranger | Standing::Member(_)) => true,
        (Right::Least(least), Standing::Member(role)) => role >= least,
        (Right::AnyToken, Standing::Nobody) | (Right::Least(_), Standing::Nobody | Standing::Stranger) => {
            false
        }
    }
}
