//! Callers whose rights come from grants, and callers in a browser.

use greenroom_domain::id::UserId;
use reqwest::Method;
use serde_json::json;
use sqlx::AssertSqlSafe;

use crate::fixture::{CallerGrant, Identity, PermissionFixture, Relation};
use crate::operations::Role;
use crate::support::{COOKIE, Caller};

impl PermissionFixture {
    /// Returns viewers with grants: on the pipeline of the call, their own or through a group, and on another one.
    pub async fn granted_identities(&mut self) -> Vec<Identity> {
        let mut identities = Vec::new();
        let mut add = |name, token: &str, relation| {
            let token = Some(token.to_owned());
            identities.push(Identity { name, maker: token.clone(), token, relation, browser_of: None });
        };
        for (name, role, as_role) in
            [("developer+", Role::Developer, "developer"), ("maintainer+", Role::Maintainer, "maintainer")]
        {
            let viewer = self.member("viewer").await;
            add(name, &viewer.token, Relation::Granted(role));
            self.granted.push(CallerGrant {
                token: viewer.token,
                kind: "users",
                grantee: viewer.user,
                role: as_role,
            });
        }
        let viewer = self.member("viewer").await;
        let groups = "/organizations/acme/groups";
        let made = self.server.post(groups, &self.owner.token, json!({ "name": "granted" })).await;
        let group = made.succeeded(201).field("id");
        let path = format!("{groups}/{group}/members/{}", viewer.user);
        self.server.request(Method::PUT, &path, Some(&self.owner.token), None).await.succeeded(200);
        add("by group+", &viewer.token, Relation::Granted(Role::Developer));
        self.granted.push(CallerGrant {
            token: viewer.token,
            kind: "groups",
            grantee: group,
            role: "developer",
        });
        let viewer = self.member("viewer").await;
        let pipeline = self.server.pipeline(&self.owner, &self.unique_name()).await;
        self.grant(&pipeline, &format!("users/{}", viewer.user), "maintainer").await;
        add("elsewhere+", &viewer.token, Relation::Member(Role::Viewer));
        identities
    }

    /// Returns people in a browser: without a valid session, of another organization, and of every role.
    pub async fn browser_identities(&self) -> Vec<Identity> {
        let mut identities = Vec::new();
        let invalid = |name, token| Identity {
            name,
            token: Some(token),
            maker: None,
            relation: Relation::Unauthenticated,
            browser_of: None,
        };
        identities.push(invalid("unknown", format!("{COOKIE}{}", "0".repeat(64))));
        for (name, change) in [
            ("ended", "ended_at = clock_timestamp()"),
            ("idle", "last_used_at = clock_timestamp() - interval '12 hours 1 minute'"),
            ("expired", "expires_at = clock_timestamp() - interval '1 second'"),
        ] {
            let owner = self.member("owner").await;
            let cookie = self.server.browser(&owner.user).await;
            let sql = format!("update browser_sessions set {change} where user_id = $1");
            let user: UserId = owner.user.parse().unwrap();
            sqlx::query(AssertSqlSafe(sql)).bind(user.uuid()).execute(&self.pool).await.unwrap();
            identities.push(invalid(name, cookie));
        }
        let mut add = |name, caller: &Caller, relation| {
            identities.push(Identity {
                name,
                token: None,
                maker: Some(caller.token.clone()),
                relation,
                browser_of: Some(caller.user.clone()),
            });
        };
        add("stranger", &self.stranger, Relation::Stranger);
        for (role, name) in Role::ALL {
            add(name, &self.member(name).await, Relation::Member(role));
        }
        identities
    }
}
