//! Calls every operation of the OpenAPI document as every kind of caller. The results are in `matrix.snap`
//! and `matrix_of_scopes.snap`, for review.

use std::collections::BTreeMap;
use std::fmt::Write;

use reqwest::Method;
use uuid::Uuid;

use crate::changes::Changes;
use crate::content;
use crate::fixture::{Identity, PermissionFixture, Relation};
use crate::operations::{
    DIGEST, LESSER_SCOPE, OWNER, PIPELINE_ID, ROWS, Right, Role, Row, Target, further_scopes,
};
use crate::response::TestResponse;
use crate::support::database::TestDatabase;

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
            wrong.push(format!("the row `{}` matches no operation of the document", row.operation));
        }
        if ROWS[..at].iter().any(|other| other.operation == row.operation) {
            wrong.push(format!("`{}` has two rows", row.operation));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Returns the document's operations: id → method and path, and whether it needs no token.
fn operations() -> BTreeMap<String, (String, bool)> {
    let document = greenroom_server::http::document();
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

#[tokio::test]
async fn every_operation_for_every_role() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let table = walk(&fixture, &fixture.identities().await, true).await;
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("matrix", table);
    });
    fixture.server.stop().await;
}

/// The same with tokens of an owner that can do less than their user: by scope, by kind, and limited to a
/// pipeline. A `*` marks a member, or another token of the service account, that is not the holder of the session.
#[tokio::test]
async fn every_operation_for_every_scope() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let table = walk(&fixture, &fixture.restricted_identities().await, false).await;
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("matrix_of_scopes", table);
    });
    fixture.server.stop().await;
}

/// The same for people in a browser: a cookie has the rights of its user's role, in every organization of the user.
#[tokio::test]
async fn every_operation_for_every_role_in_a_browser() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let table = walk(&fixture, &fixture.browser_identities().await, false).await;
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("matrix_of_browsers", table);
    });
    fixture.server.stop().await;
}

/// The same for viewers with grants: on the pipeline of the call they have the granted role, on others they read.
#[tokio::test]
async fn every_operation_for_every_grant() {
    let (_database, pool) = TestDatabase::create().await;
    let mut fixture = PermissionFixture::new(&pool).await;
    let identities = fixture.granted_identities().await;
    let table = walk(&fixture, &identities, false).await;
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("matrix_of_grants", table);
    });
    fixture.server.stop().await;
}

/// Calls every operation as each of these and returns the statuses as a table.
async fn walk(fixture: &PermissionFixture, identities: &[Identity], foreign: bool) -> String {
    let pipeline = fixture.server.pipeline(&fixture.owner, &fixture.unique_name()).await;
    let mut walk = Walk { fixture, pipeline, responses: String::new(), wrong: Vec::new() };
    let columns: Vec<&str> =
        identities.iter().map(|identity| identity.name).chain(foreign.then_some("foreign")).collect();
    let mut table = format!("{:<24}{}", "operation", columns.join("  "));
    for row in ROWS {
        write!(table, "\n{:<22}", row.operation).unwrap();
        for (column, status) in columns.iter().zip(walk.row(row, identities, foreign).await) {
            write!(table, "  {status:<width$}", width = column.len()).unwrap();
        }
    }
    let table: Vec<&str> = table.lines().map(str::trim_end).collect();
    let table = table.join("\n");

    assert!(walk.wrong.is_empty(), "\n{}\n{table}", walk.wrong.join("\n"));
    let secrets: Vec<&str> = identities.iter().filter_map(|identity| identity.token.as_deref()).collect();
    assert_eq!(content::traces_of(secrets.iter().copied(), &walk.responses), Vec::<String>::new());
    assert_eq!(content::traces_of(secrets, &content::dump(&fixture.pool).await), Vec::<String>::new());
    table
}

struct Walk<'a> {
    fixture: &'a PermissionFixture,
    /// The id of a pipeline that bodies name.
    pipeline: String,
    /// All bodies, concatenated.
    responses: String,
    wrong: Vec<String>,
}

impl Walk<'_> {
    /// Returns the statuses of one operation, in the order of the callers, and that of the stranger who
    /// requests a record of this organization through the path of their own.
    async fn row(&mut self, row: &Row, identities: &[Identity], foreign: bool) -> Vec<String> {
        let (fixture, own) = (self.fixture, self.fixture.owner.organization.as_str());
        let identities = &fixture.renewed(identities).await;
        let id = fixture.target(row.target, &fixture.owner.token).await;
        // Operations of the holder are refused to a token of the holder that has only other scopes.
        let scoped = identities.iter().find(|identity| matches!(identity.relation, Relation::Scoped(_)));
        let held = match scoped.and_then(|identity| identity.maker.as_deref()).filter(|_| row.is_holders()) {
            Some(maker) => fixture.target(row.target, maker).await,
            None => id.clone(),
        };
        // A session of a service account is refused to another token of that account.
        let sibling = identities.iter().find(|identity| matches!(identity.relation, Relation::OtherToken(_)));
        let of_sibling = match sibling.and_then(|identity| identity.maker.as_deref()) {
            Some(maker) if row.is_holders() => fixture.target(row.target, maker).await,
            _ => id.clone(),
        };
        if row.is_of_pipeline() {
            fixture.grant_to_all(identities, &id).await;
        }
        let changes = Changes::watch(&fixture.pool).await;
        let mut statuses = Vec::new();
        // First all refused calls: they may not change anything.
        for identity in identities {
            let status = match expected(row, identity) {
                Expected::Success => None,
                Expected::NotApplicable => Some("–".to_owned()),
                Expected::Refusal(status, code) => {
                    let id = match identity.relation {
                        Relation::Scoped(_) => &held,
                        Relation::OtherToken(_) => &of_sibling,
                        _ => &id,
                    };
                    self.refused(row, identity, (own, id), (status, code)).await;
                    Some(status.to_string())
                }
            };
            statuses.push(status);
        }
        let foreign = if foreign { Some(self.foreign(row, &id).await) } else { None };
        for change in changes.list().await {
            self.wrong
                .push(format!("{}: a call that was refused has made a change: {change}", row.operation));
        }
        // Then all permitted calls, each with its own record.
        for (identity, status) in identities.iter().zip(&mut statuses) {
            if status.is_none() {
                let maker = match identity.relation {
                    // Only sessions have a holder.
                    Relation::NonHolder(_) | Relation::OtherToken(_) if !row.is_holders() => &identity.token,
                    _ => &identity.maker,
                };
                let target = fixture.target(row.target, maker.as_deref().unwrap_or_default()).await;
                if row.is_of_pipeline() {
                    fixture.grant_to_all(std::slice::from_ref(identity), &target).await;
                }
                let token = match identity.relation {
                    Relation::Within => Some(fixture.token_within(identity, &target).await),
                    _ => identity.token.clone(),
                };
                let response = self.call(row, &row.path(own, &target), token.as_deref()).await;
                if response.status != row.success {
                    self.wrong.push(format!(
                        "{} by {}: {} {}",
                        row.operation, identity.name, response.status, response.text
                    ));
                }
                *status = Some(response.status.to_string());
            }
        }
        statuses.into_iter().map(Option::unwrap_or_default).chain(foreign).collect()
    }

    async fn refused(
        &mut self,
        row: &Row,
        identity: &Identity,
        (organization, id): (&str, &str),
        (status, code): (u16, &str),
    ) {
        let token = identity.token.as_deref();
        let response = self.call(row, &row.path(organization, id), token).await;
        if let Some(wrong) = response.not_refused_as(status, code) {
            self.wrong.push(format!("{} by {}: {wrong}", row.operation, identity.name));
        }
        let lesser = LESSER_SCOPE.iter().find(|(operation, _)| *operation == row.operation);
        let is_lesser = lesser.is_some_and(|(_, scope)| response.json["requiredScope"] == *scope);
        let is_further = further_scopes(row).iter().any(|scope| response.json["requiredScope"] == *scope);
        if code == "scope_missing" && response.json["requiredScope"] != row.scope && !is_lesser && !is_further
        {
            self.wrong.push(format!("{} by {}: {}", row.operation, identity.name, response.text));
        }
        if identity.relation == Relation::Stranger {
            // A path with the slug or with a missing organization has to give the same response.
            let nowhere = format!("org_{}", Uuid::now_v7());
            for other in ["acme", nowhere.as_str(), "no-such-organization"] {
                let same = self.call(row, &row.path(other, id), token).await;
                if same.comparable() != response.comparable() {
                    self.wrong.push(format!(
                        "{}: a stranger can distinguish {other}: {}",
                        row.operation, same.text
                    ));
                }
            }
        }
    }

    /// The stranger requests a record of this organization through the path of their own.
    async fn foreign(&mut self, row: &Row, id: &str) -> String {
        if row.target == Target::Nothing {
            return "–".to_owned();
        }
        let (own, token) = (&self.fixture.stranger.organization, &self.fixture.stranger.token);
        let response = self.call(row, &row.path(own, id), Some(token)).await;
        let unknown = format!("{}_{}", &id[..3], Uuid::now_v7());
        let nothing = self.call(row, &row.path(own, &unknown), Some(token)).await;
        if let Some(wrong) = response.not_refused_as(404, "not_found") {
            self.wrong.push(format!("{} of another's record: {wrong}", row.operation));
        }
        if nothing.comparable() != response.comparable() {
            self.wrong.push(format!(
                "{}: a record of another organization differs from a missing one: {}",
                row.operation, nothing.text
            ));
        }
        response.status.to_string()
    }

    async fn call(&mut self, row: &Row, path: &str, token: Option<&str>) -> TestResponse {
        let method = Method::from_bytes(row.method.as_bytes()).unwrap();
        let body = row.body(&self.fixture.unique_name()).map(|body| {
            let text = body.to_string().replace(OWNER, &self.fixture.owner.user);
            let text = text.replace(DIGEST, &self.fixture.digest.lock().unwrap());
            let text = text.replace(PIPELINE_ID, &self.pipeline);
            serde_json::from_str(&text).unwrap()
        });
        let response = self.fixture.server.request(method, path, token, body).await;
        self.responses += &response.text;
        response
    }
}

/// The expected result of a call.
enum Expected {
    Success,
    Refusal(u16, &'static str),
    /// The call is not possible.
    NotApplicable,
}

fn expected(row: &Row, identity: &Identity) -> Expected {
    let when = |allowed: bool, status: u16, code: &'static str| {
        if allowed { Expected::Success } else { Expected::Refusal(status, code) }
    };
    let by_role = |role: Role| match row.right {
        Right::Public | Right::AnyToken | Right::Browser => Expected::Success,
        Right::Least(least) => when(role >= least, 403, "forbidden"),
    };
    match identity.relation {
        Relation::Unauthenticated => when(row.right == Right::Public, 401, "unauthenticated"),
        _ if row.right == Right::Browser => {
            when(identity.browser_of.is_some(), 403, "browser_session_required")
        }
        // Programs do not vote, whatever their role and scopes.
        _ if identity.name.starts_with("service") && row.is_vote() => {
            Expected::Refusal(403, "approval_needs_person")
        }
        Relation::Stranger => when(!matches!(row.right, Right::Least(_)), 404, "not_found"),
        Relation::Member(role) => by_role(role),
        // What belongs to no pipeline needs the role in the organization.
        Relation::Granted(role) if row.is_of_pipeline() => by_role(role),
        Relation::Granted(_) => by_role(Role::Viewer),
        // Sessions of others can only be ended, by maintainers and above.
        Relation::NonHolder(role) | Relation::OtherToken(role) if row.is_holders() => {
            when(row.operation == "release_session" && role >= Role::Maintainer, 403, "forbidden")
        }
        Relation::NonHolder(role) | Relation::OtherToken(role) => by_role(role),
        // Tokens of service accounts can't administer, so a token that can do nothing else has nothing to give.
        Relation::Scoped(["admin"])
            if matches!(row.operation, "create_service_account_token" | "create_trust_policy") =>
        {
            Expected::Refusal(403, "token_exceeds_parent")
        }
        Relation::Scoped(scopes) => {
            let has_further = further_scopes(row).iter().all(|scope| scopes.contains(scope));
            let is_enough = row.scope.is_empty() || scopes.contains(&row.scope) && has_further;
            when(is_enough, 403, "scope_missing")
        }
        Relation::Elsewhere if row.is_of_pipeline() || row.target == Target::Event => {
            Expected::Refusal(404, "not_found")
        }
        Relation::Elsewhere => when(row.scope.is_empty() || row.narrows(), 403, "token_limited"),
        Relation::Within if row.is_of_pipeline() => Expected::Success,
        Relation::Within => Expected::NotApplicable,
    }
}
