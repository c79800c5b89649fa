//! A relying party: SeaweedFS, which exchanges id tokens of its providers for temporary credentials of a
//! role, as AWS does.

use std::path::Path;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use crate::scenarios::s3::S3;

/// An issuer whose tokens it accepts.
pub(super) struct Provider<'a> {
    pub(super) name: &'a str,
    pub(super) issuer: &'a str,
    pub(super) audience: &'a str,
    /// The address of the issuer's keys; discovered if left out.
    pub(super) key_set: Option<String>,
}

/// A role that tokens are exchanged for.
pub(super) struct Role<'a> {
    pub(super) name: &'a str,
    /// The name of the provider.
    pub(super) provider: &'a str,
    /// The subject that a token must have; any if left out.
    pub(super) subject: Option<&'a str>,
}

pub(super) struct RelyingParty {
    server: S3,
    pub(super) address: String,
}

impl RelyingParty {
    pub(super) async fn start(
        folder: &Path,
        providers: &[Provider<'_>],
        roles: &[Role<'_>],
    ) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let file = folder.join("iam.json");
        std::fs::write(&file, configuration(providers, roles).to_string())?;
        let server = S3::start(folder, Some(&file)).await?;
        let address = server.variables.get("AWS_ENDPOINT").context("SeaweedFS has no address")?.clone();
        Ok(Self { server, address })
    }

    /// Exchanges a token and returns the status of the response.
    pub(super) async fn exchange(&self, role: &str, token: &str) -> anyhow::Result<String> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        let request = http.post(format!("{}/", self.address)).body(body(role, token));
        let response = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").send().await?;
        Ok(response.status().as_u16().to_string())
    }

    pub(super) async fn end(self) -> anyhow::Result<()> {
        self.server.end().await
    }
}

/// Returns the body of a request. None of its characters needs an encoding. In a step's script, `role` and
/// `token` are variables.
pub(super) fn body(role: &str, token: &str) -> String {
    format!(
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleSessionName=step\
         &RoleArn=arn:aws:iam::role/{role}&WebIdentityToken={token}"
    )
}

fn configuration(providers: &[Provider<'_>], roles: &[Role<'_>]) -> Value {
    let provider = |provider: &Provider<'_>| {
        let mut config = json!({ "issuer": provider.issuer, "clientId": provider.audience });
        if let Some(key_set) = &provider.key_set {
            config["jwksUri"] = json!(key_set);
        }
        json!({ "name": provider.name, "type": "oidc", "enabled": true, "config": config })
    };
    let role = |role: &Role<'_>| {
        let mut statement = json!({
            "Effect": "Allow",
            "Principal": { "Federated": role.provider },
            "Action": ["sts:AssumeRoleWithWebIdentity"],
        });
        if let Some(subject) = role.subject {
            statement["Condition"] = json!({ "StringEquals": { "oidc:sub": subject } });
        }
        json!({
            "roleName": role.name,
            "roleArn": format!("arn:aws:iam::role/{}", role.name),
            "trustPolicy": { "Version": "2012-10-17", "Statement": [statement] },
            "attachedPolicies": ["read"],
        })
    };
    let read = json!({
        "Version": "2012-10-17",
        "Statement": [{ "Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["*"] }],
    });
    json!({
        "sts": {
            "tokenDuration": "1h",
            "maxSessionLength": "12h",
            "issuer": "relying-party",
            "signingKey": STANDARD.encode(rand::random::<[u8; 32]>()),
            "providers": providers.iter().map(provider).collect::<Vec<_>>(),
        },
        "policy": { "defaultEffect": "Deny", "storeType": "memory" },
        "roles": roles.iter().map(role).collect::<Vec<_>>(),
        "policies": [{ "name": "read", "document": read }],
    })
}
