//! The records that the calls are about: each call gets one of its own, in the state that it needs.

use reqwest::Method;
use serde_json::json;

use crate::fixture::{Identity, PermissionFixture};
use crate::operations::{Target, WITH_ENVIRONMENT, WITH_TEARDOWN};
use crate::support::DEFINITION;
use crate::support::steps::{new_version, publish};

impl PermissionFixture {
    /// Creates the record of `acme` that a call names.
    pub async fn target(&self, target: Target, token: &str) -> String {
        let organization = &self.owner.organization;
        match target {
            Target::Nothing => String::new(),
            Target::Member => self.member("viewer").await.user,
            Target::ServiceAccount => {
                let path = format!("/organizations/{organization}/service-accounts");
                let body = json!({ "name": self.unique_name(), "role": "viewer" });
                self.server.post(&path, &self.owner.token, body).await.succeeded(201).field("id")
            }
            Target::TrustPolicy => {
                let account = Box::pin(self.target(Target::ServiceAccount, token)).await;
                let pipeline = self.server.pipeline(&self.owner, &self.unique_name()).await;
                let path = format!("/organizations/{organization}/service-accounts/{account}/trust-policies");
                let body = json!({
                    "name": "target",
                    "issuer": "https://issuer.example",
                    "claims": { "sub": "build" },
                    "pipelines": [pipeline],
                });
                let made = self.server.post(&path, &self.owner.token, body).await.succeeded(201);
                format!("{account}/{}", made.field("id"))
            }
            Target::OwnToken => {
                let path = format!("/organizations/{organization}/api-tokens");
                self.server.post(&path, token, json!({ "name": "target" })).await.succeeded(201).field("id")
            }
            Target::Pipeline => self.server.pipeline(&self.owner, &self.unique_name()).await,
            Target::StoppedPipeline => {
                let id = self.server.pipeline(&self.owner, &self.unique_name()).await;
                let path = format!("/organizations/{organization}/pipelines/{id}/stop");
                self.server.post(&path, &self.owner.token, json!({})).await.succeeded(200);
                id
            }
            Target::Event => self.event("pipeline.created").await,
            Target::Environment => self.environment().await,
            Target::FailedCleanup => self.failed_cleanup().await,
            Target::OthersSession => {
                let other = self.member("developer").await;
                Box::pin(self.target(Target::Session, &other.token)).await
            }
            Target::HandoverSession => {
                let session = Box::pin(self.target(Target::Session, token)).await;
                let identity = self.member("developer").await;
                let [pipeline, name, id] = session.split('/').collect::<Vec<_>>()[..] else { unreachable!() };
                let path = format!(
                    "/organizations/{organization}/pipelines/{pipeline}/ephemeral-environments/{name}/sessions/{id}/request-handover"
                );
                self.server.post(&path, &identity.token, json!({})).await.succeeded(202);
                session
            }
            Target::Runner => {
                let path = format!("/organizations/{organization}/runners");
                let made =
                    self.server.post(&path, &self.owner.token, json!({ "name": self.unique_name() })).await;
                made.succeeded(201).field("id")
            }
            Target::RunnerPool => {
                let path = format!("/organizations/{organization}/runners");
                let pool = format!("pool-{}", self.unique_name());
                let body = json!({ "name": self.unique_name(), "pool": pool });
                self.server.post(&path, &self.owner.token, body).await.succeeded(201);
                pool
            }
            Target::Secret => {
                let pipeline = self.server.pipeline(&self.owner, &self.unique_name()).await;
                let path = format!("/organizations/{organization}/secrets");
                let body = json!({ "name": "target", "pipelineId": pipeline, "value": "first value" });
                let id = self.server.post(&path, &self.owner.token, body).await.succeeded(201).field("id");
                let (path, body) = (format!("{path}/{id}/value"), json!({ "value": "second value" }));
                let set = self.server.request(Method::PUT, &path, Some(&self.owner.token), Some(body)).await;
                set.succeeded(200);
                id
            }
            Target::Freeze => {
                let path = format!("/organizations/{organization}/freezes");
                let (from, to) = ("2026-12-23T17:00:00Z", "2027-01-04T08:00:00Z");
                let body = json!({ "name": "target", "reason": "Holidays", "from": from, "to": to });
                self.server.post(&path, &self.owner.token, body).await.succeeded(201).field("id")
            }
            Target::Registry => self.registry().await,
            Target::RegistryStep => {
                let registry = self.registry().await;
                let published = vec![new_version("roll-out", "1.0.0", "name: roll-out\n")];
                publish(&self.server.server.app.store, &self.pool, &registry, published).await;
                format!("{registry}/roll-out/1.0.0")
            }
            Target::Forge => {
                let path = format!("/organizations/{organization}/forges");
                let body = crate::bodies::forge(&self.unique_name());
                self.server.post(&path, &self.owner.token, body).await.succeeded(201).field("name")
            }
            Target::Group => self.group().await.0,
            Target::GroupMember => {
                let (group, user) = self.group().await;
                format!("{group}/{user}")
            }
            Target::GroupGrant => {
                let pipeline = self.server.pipeline(&self.owner, &self.unique_name()).await;
                let (group, _) = self.group().await;
                self.grant(&pipeline, &format!("groups/{group}"), "developer").await;
                format!("{pipeline}/{group}")
            }
            Target::UserGrant => {
                let pipeline = self.server.pipeline(&self.owner, &self.unique_name()).await;
                let user = self.member("viewer").await.user;
                self.grant(&pipeline, &format!("users/{user}"), "developer").await;
                format!("{pipeline}/{user}")
            }
            Target::Approval => self.approval(token).await.1,
            Target::WaitingStage => format!("{}/release", self.approval(token).await.0),
            Target::LastingEnvironment => self.environment().await.replace("/qa-1", "/production"),
            Target::Deployment => self.deployment().await.0,
            Target::Stage => format!("{}/build", self.deployment().await.0),
            Target::EndedStage => {
                let (deployment, _) = self.deployment().await;
                let path = format!("/organizations/{organization}/deployments/{deployment}/cancel");
                self.server.post(&path, &self.owner.token, json!({})).await.succeeded(202);
                self.advance(&deployment).await;
                format!("{deployment}/build")
            }
            Target::Step => {
                let (deployment, step) = self.deployment().await;
                format!("{deployment}/{step}")
            }
            Target::FailedStep => self.failed_step().await.0,
            Target::FailedDeployment => self.failed_deployment().await,
            Target::Analysis => self.analysis().await,
            Target::ExplainedAnalysis => self.explained_analysis().await,
            Target::FixableAnalysis => self.fixable_analysis().await,
            Target::Fix => {
                let analysis = self.fixable_analysis().await;
                let path = format!("/organizations/{organization}/analyses/{analysis}/fix-pull-requests");
                let body = crate::bodies::fix("");
                self.server.post(&path, &self.owner.token, body).await.succeeded(202).field("id")
            }
            Target::Failure => self.failed_step().await.1,
            Target::Session => {
                let environment = self.environment().await;
                let (pipeline, name) = environment.split_once('/').unwrap();
                self.grant_to_caller(token, pipeline).await;
                let path = format!(
                    "/organizations/{organization}/pipelines/{pipeline}/ephemeral-environments/{name}/sessions"
                );
                let own = self.server.post(&path, token, json!({})).await;
                let claimed = match own.status {
                    201 => own,
                    _ => self.server.post(&path, &self.owner.token, json!({})).await.succeeded(201),
                };
                format!("{environment}/{}", claimed.field("sessionId"))
            }
        }
    }

    /// Creates a deployment whose only step has failed. Returns both, and the fingerprint of the failure.
    async fn failed_step(&self) -> (String, String) {
        let (deployment, step) = self.deployment().await;
        let fingerprint = format!("fp_{}", self.unique_name());
        sqlx::query(
            "insert into failures
                 (organization_id, id, pipeline_id, deployment_id, stage_key, attempt, job_id, step_run_id, step, place,
                  commit_id, definition_version, created_by, status, reason, failed_at, collected_at, category,
                  fingerprint, decisive, verdict)
             select d.organization_id, gen_random_uuid(), d.pipeline_id, d.id, 'build', 1, s.job_id, s.id, s.name, '',
                    d.commit_id, d.definition_version, d.created_by, 'failed', 'step_failed', now(), now(), 'test', $3,
                    'it failed', 'unknown'
             from deployments d, step_runs s
             where 'dep_' || d.id::text = $1 and 'stp_' || s.id::text = $2",
        )
        .bind(&deployment)
        .bind(&step)
        .bind(&fingerprint)
        .execute(&self.pool)
        .await
        .unwrap();
        (format!("{deployment}/{step}"), fingerprint)
    }

    async fn failed_deployment(&self) -> String {
        let (step, _) = self.failed_step().await;
        step.split_once('/').unwrap().0.to_owned()
    }

    async fn analysis(&self) -> String {
        let (organization, deployment) = (&self.owner.organization, self.failed_deployment().await);
        let path = format!("/organizations/{organization}/deployments/{deployment}/analyses");
        self.server.post(&path, &self.owner.token, json!({})).await.succeeded(202).field("id")
    }

    /// Creates an analysis for which a model was called.
    async fn explained_analysis(&self) -> String {
        let analysis = self.analysis().await;
        let statement = "insert into model_calls
                 (organization_id, id, failure_id, analysis_id, host, model, prompt, prompt_hash, prompt_version, input_price,
                  output_price, reserved_day, reserved_month, reserved_tokens, reserved_cost)
             select organization_id, gen_random_uuid(), failure_id, id, 'models.test', 'm', 'prompt', 'hash', 1, 0, 0,
                    current_date, current_date, 1, 0
             from analyses where 'ana_' || id::text = $1";
        let done = sqlx::query(statement).bind(&analysis).execute(&self.pool).await.unwrap();
        assert_eq!(done.rows_affected(), 1);
        analysis
    }

    /// Creates an analysis of a pipeline whose repository has a forge, and which names environments for fixes.
    async fn fixable_analysis(&self) -> String {
        let (organization, analysis) = (&self.owner.organization, self.analysis().await);
        let pipeline = self.pipeline_of(&analysis).await;
        let statement =
            "update pipelines set repository = 'https://github.com/acme/shop' where 'pip_' || id::text = $1";
        let done = sqlx::query(statement).bind(&pipeline).execute(&self.pool).await.unwrap();
        assert_eq!(done.rows_affected(), 1);
        let environments = "fix: {labels: [fixes]}\nephemeralEnvironments: {fix-1: {labels: [fixes]}}\n";
        let body = json!({ "definition": format!("{DEFINITION}{environments}") });
        let path = format!("/organizations/{organization}/pipelines/{pipeline}");
        let updated = self.server.request(Method::PUT, &path, Some(&self.owner.token), Some(body)).await;
        updated.succeeded(200);
        let forge = crate::bodies::forge("of-fixes");
        let path = format!("/organizations/{organization}/forges");
        let connected = self.server.post(&path, &self.owner.token, forge).await;
        assert!([201, 409].contains(&connected.status), "{}", connected.text);
        analysis
    }

    async fn registry(&self) -> String {
        let path = format!("/organizations/{}/step-registries", self.owner.organization);
        let body = crate::bodies::registry(&self.unique_name());
        self.server.post(&path, &self.owner.token, body).await.succeeded(201).field("id")
    }

    /// Creates a group with a member, and returns both.
    async fn group(&self) -> (String, String) {
        let path = format!("/organizations/{}/groups", self.owner.organization);
        let body = json!({ "name": self.unique_name() });
        let group = self.server.post(&path, &self.owner.token, body).await.succeeded(201).field("id");
        let user = self.member("viewer").await.user;
        let path = format!("{path}/{group}/members/{user}");
        self.server.request(Method::PUT, &path, Some(&self.owner.token), None).await.succeeded(200);
        (group, user)
    }

    /// Grants a role on a pipeline to `groups/{id}` or `users/{id}`.
    pub async fn grant(&self, pipeline: &str, grantee: &str, role: &str) {
        let path =
            format!("/organizations/{}/pipelines/{pipeline}/grants/{grantee}", self.owner.organization);
        let (token, body) = (Some(self.owner.token.as_str()), json!({ "role": role }));
        self.server.request(Method::PUT, &path, token, Some(body)).await.succeeded(200);
    }

    /// Gives all callers whose rights come from grants theirs on the pipeline of a target.
    pub async fn grant_to_all(&self, identities: &[Identity], target: &str) {
        for token in identities.iter().filter_map(|identity| identity.token.as_deref()) {
            self.grant_to_caller(token, target).await;
        }
    }

    /// Gives a caller whose rights come from grants its grant on the pipeline of a target.
    pub async fn grant_to_caller(&self, token: &str, target: &str) {
        let Some(grant) = self.granted.iter().find(|grant| grant.token == token) else { return };
        let pipeline = self.pipeline_of(target).await;
        self.grant(&pipeline, &format!("{}/{}", grant.kind, grant.grantee), grant.role).await;
    }

    /// Creates a deployment that has begun. Returns it and its only step.
    async fn deployment(&self) -> (String, String) {
        let organization = &self.owner.organization;
        let pipeline = self.server.pipeline(&self.owner, &self.unique_name()).await;
        let path = format!("/organizations/{organization}/pipelines/{pipeline}/deployments");
        let made = self.server.post(&path, &self.owner.token, json!({ "commitId": "0123abc" })).await;
        let id = made.succeeded(202).field("id");
        self.advance(&id).await;
        let path = format!("/organizations/{organization}/deployments/{id}");
        let record = self.server.get(&path, &self.owner.token).await;
        let step = record.json["data"]["stages"][0]["steps"][0]["id"].as_str().unwrap().to_owned();
        (id, step)
    }

    /// Creates a deployment whose stage waits for an approval of the caller. Returns it and the approval.
    async fn approval(&self, token: &str) -> (String, String) {
        let own = format!("/organizations/{}", self.owner.organization);
        let me = self.server.get("/me", token).await;
        let user = me.json["data"]["userId"].as_str().unwrap_or(&self.owner.user).to_owned();
        let definition = format!(
            "stages:\n  release:\n    approval: {{ users: [{user}], selfApproval: true }}\n    steps: [{{ image: a, run: b }}]\n"
        );
        let body = json!({ "name": self.unique_name(), "definition": definition });
        let owner = &self.owner.token;
        let pipeline =
            self.server.post(&format!("{own}/pipelines"), owner, body).await.succeeded(201).field("id");
        let body = json!({ "commitId": "0123456789abcdef0123456789abcdef01234567" });
        let path = format!("{own}/pipelines/{pipeline}/deployments");
        let deployment = self.server.post(&path, owner, body).await.succeeded(202).field("id");
        self.advance(&deployment).await;
        let list = self.server.get(&format!("{own}/approvals?pipelineId={pipeline}"), owner).await;
        let approval = &list.json["data"][0];
        *self.digest.lock().unwrap() = approval["subjectDigest"].as_str().unwrap().to_owned();
        (deployment, approval["id"].as_str().unwrap().to_owned())
    }

    /// Creates an environment whose teardown was canceled, as `pipeline/name`.
    async fn failed_cleanup(&self) -> String {
        let (own, token) = (format!("/organizations/{}", self.owner.organization), &self.owner.token);
        let body = json!({ "name": self.unique_name(), "definition": WITH_TEARDOWN });
        let pipeline =
            self.server.post(&format!("{own}/pipelines"), token, body).await.succeeded(201).field("id");
        let sessions = format!("{own}/pipelines/{pipeline}/ephemeral-environments/qa-1/sessions");
        let claimed =
            self.server.post(&sessions, token, json!({ "commitId": "0123abc" })).await.succeeded(201);
        let deployment = claimed.json["data"]["deployments"][0]["id"].as_str().unwrap().to_owned();
        self.advance(&deployment).await;
        self.server.delete(&format!("{sessions}/{}", claimed.field("sessionId")), token).await.succeeded(200);
        self.advance(&deployment).await;
        let list = self.server.get(&format!("{own}/pipelines/{pipeline}/deployments"), token).await;
        let teardown = list.json["data"][0]["id"].as_str().unwrap().to_owned();
        self.server
            .post(&format!("{own}/deployments/{teardown}/cancel"), token, json!({}))
            .await
            .succeeded(202);
        format!("{pipeline}/qa-1")
    }

    /// Advances a deployment, as the engine does.
    async fn advance(&self, deployment: &str) {
        let organization = self.owner.organization.parse().unwrap();
        let store = &self.server.server.app.store;
        store.advance_deployment(organization, deployment.parse().unwrap()).await.unwrap();
    }

    /// Creates a pipeline and returns its only environment, as `pipeline/name`.
    async fn environment(&self) -> String {
        let path = format!("/organizations/{}/pipelines", self.owner.organization);
        let body = json!({ "name": self.unique_name(), "definition": WITH_ENVIRONMENT });
        let made = self.server.post(&path, &self.owner.token, body).await.succeeded(201);
        format!("{}/qa-1", made.field("id"))
    }
}
