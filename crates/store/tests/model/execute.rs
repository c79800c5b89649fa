//! Executes a request with the store, like the server does.

use greenroom_domain::environment::{Applied, Effect, LockCommand, Refusal};
use greenroom_domain::lock::Claim;
use greenroom_store::deployment::NewSessionDeployment;
use greenroom_store::grant::{FastPathResult, GrantRequest, PlainClaim};
use greenroom_store::lock::NewSession;
use greenroom_store::pipeline::PipelineName;
use greenroom_store::system::sweeper::DueEnvironment;
use jiff::Timestamp;
use uuid::Uuid;

use crate::fixture::{ModelFixture, NAMES, REQUEST};
use crate::model::{Expected, Request, user_of};
use crate::step::GrantPath;

/// The outcome of a request.
pub enum Outcome {
    /// With the ids of the model.
    Applied(Applied),
    FastPath(Box<FastPathResult>),
    Swept,
}

impl ModelFixture {
    /// Executes a request. A plain claim and a release try the fast path first if their path is `Fast`.
    /// Everything that the fast path does not handle takes the slow path.
    pub async fn execute(&self, expected: &Expected) -> Outcome {
        let Expected { environment, request, .. } = expected;
        if request.command == LockCommand::Sweep {
            self.sweep(expected).await;
            return Outcome::Swept;
        }
        if request.path == GrantPath::Fast
            && let Some(done) = self.fast_path(*environment, request).await
        {
            return Outcome::FastPath(Box::new(done));
        }
        self.command(*environment, request).await
    }

    /// One environment is addressed by its pipeline's id, the other by its slug.
    fn pipeline_name(&self, environment: usize) -> PipelineName {
        if environment == 0 {
            PipelineName::Id(self.pipeline)
        } else {
            PipelineName::Slug(self.slug.parse().unwrap())
        }
    }

    pub async fn fast_path(&self, environment: usize, request: &Request) -> Option<FastPathResult> {
        let (store, pipeline) = (&self.shared.store, self.pipeline_name(environment));
        let grant_request = self.grant_request(environment, request, &pipeline);
        match request.command {
            LockCommand::Claim(claim) => {
                store.grant(grant_request, self.plain(claim, request)).await.unwrap()
            }
            LockCommand::Release(session) => store.release(grant_request, self.id(session)).await.unwrap(),
            _ => None,
        }
    }

    fn grant_request<'a>(
        &'a self,
        environment: usize,
        request: &Request,
        pipeline: &'a PipelineName,
    ) -> GrantRequest<'a> {
        let principal = &self.shared.people[request.by];
        GrantRequest { principal, request_id: REQUEST, pipeline, environment: NAMES[environment] }
    }

    fn plain<'a>(&self, claim: Claim<'_>, request: &'a Request) -> PlainClaim<'a> {
        PlainClaim {
            session: self.id(claim.session),
            context: request.context.as_deref(),
            ttl_seconds: request.lease,
        }
    }

    async fn command(&self, environment: usize, request: &Request) -> Outcome {
        let credential = self.shared.people[request.by].credential;
        let mut command =
            self.shared.store.command(self.organization(), credential, REQUEST).await.unwrap().unwrap();
        if request.path == GrantPath::FastInCommand {
            let pipeline = self.pipeline_name(environment);
            let grant_request = self.grant_request(environment, request, &pipeline);
            let done = match request.command {
                LockCommand::Claim(claim) => {
                    command.grant(grant_request, self.plain(claim, request)).await.unwrap()
                }
                LockCommand::Release(session) => {
                    command.release(grant_request, self.id(session)).await.unwrap()
                }
                _ => None,
            };
            if let Some(done) = done {
                command.commit().await.unwrap();
                return Outcome::FastPath(Box::new(done));
            }
        }
        let mut locked = command.lock_environment(self.pipeline, NAMES[environment]).await.unwrap().unwrap();
        let person = &self.shared.people[request.user];
        let new = NewSession {
            user_name: person.user_name.clone(),
            user_kind: person.token_kind.to_string(),
            // A release by its own user has no context. Only a user who ends another user's session gives a
            // reason.
            context: request.context.clone().filter(|_| !matches!(request.command, LockCommand::Release(_))),
            commit_id: request.commit.clone(),
            credential: Some(person.credential),
            token_name: person.service_token.as_ref().map(|token| token.name.clone()),
        };
        let applied = command.apply(&mut locked, self.in_database(request.command), &new).await.unwrap();
        let applied = self.in_model(applied);
        if let (Ok(effects), Some(commit), LockCommand::Queue(claim)) =
            (&applied, &request.commit, request.command)
            && effects
                .iter()
                .any(|effect| matches!(effect, Effect::Granted { session, .. } if *session == claim.session))
        {
            let deployment = NewSessionDeployment {
                session: self.id(claim.session),
                created_by: person.user_id,
                commit_id: commit,
            };
            command.create_deployment(&locked, Uuid::now_v7().into(), deployment).await.unwrap();
        }
        // A refused command is rolled back.
        if applied.is_ok() {
            command.commit().await.unwrap();
        }
        Outcome::Applied(applied)
    }

    async fn sweep(&self, expected: &Expected) {
        let due = DueEnvironment {
            organization_id: self.organization(),
            environment_id: self.environments[expected.environment],
        };
        let found = self.shared.store.due_environments(i64::MAX, &[]).await.unwrap();
        assert!(
            found.contains(&due) || !expected.due,
            "the sweeper does not find an environment that is due"
        );
        self.shared.store.sweep_environment(due).await.unwrap();
        let found = self.shared.store.due_environments(i64::MAX, &[]).await.unwrap();
        assert!(!found.contains(&due), "an environment is due again immediately after a sweep");
    }

    fn in_database(&self, command: LockCommand<'static>) -> LockCommand<'static> {
        let claim = |claim: Claim<'static>| Claim {
            session: self.id(claim.session),
            owner: self.shared.people[user_of(claim.owner.user)].owner(),
            ..claim
        };
        match command {
            LockCommand::Claim(requested) => LockCommand::Claim(claim(requested)),
            LockCommand::Queue(requested) => LockCommand::Queue(claim(requested)),
            LockCommand::Force(requested) => LockCommand::Force(claim(requested)),
            LockCommand::Release(session) => LockCommand::Release(self.id(session)),
            LockCommand::Renew(session) => LockCommand::Renew(self.id(session)),
            LockCommand::Heartbeat(session) => LockCommand::Heartbeat(self.id(session)),
            LockCommand::StreamHeartbeat(session) => LockCommand::StreamHeartbeat(self.id(session)),
            LockCommand::Transfer { from, to } => {
                LockCommand::Transfer { from: self.id(from), to: claim(to) }
            }
            LockCommand::RequestHandover { of, by, grace } => {
                LockCommand::RequestHandover { of: self.id(of), by: claim(by), grace }
            }
            LockCommand::AcceptHandover(session) => LockCommand::AcceptHandover(self.id(session)),
            LockCommand::DeclineHandover(session) => LockCommand::DeclineHandover(self.id(session)),
            LockCommand::Sweep => LockCommand::Sweep,
        }
    }

    fn in_model(&self, applied: Applied) -> Applied {
        let effect = |effect: Effect| match effect {
            Effect::Granted { session, fence } => Effect::Granted { session: self.modeled(session), fence },
            Effect::Queued { session } => Effect::Queued { session: self.modeled(session) },
            Effect::Ended { session, end } => Effect::Ended { session: self.modeled(session), end },
            // The due time is compared in `views`.
            Effect::HandoverRequested { session, by, .. } => Effect::HandoverRequested {
                session: self.modeled(session),
                by: self.modeled(by),
                due_at: Timestamp::UNIX_EPOCH,
            },
            Effect::HandoverLapsed { session, by } => {
                Effect::HandoverLapsed { session: self.modeled(session), by: self.modeled(by) }
            }
            Effect::Skipped { session, why } => Effect::Skipped { session: self.modeled(session), why },
            Effect::HandoverDeclined { session, by } => {
                Effect::HandoverDeclined { session: self.modeled(session), by: self.modeled(by) }
            }
        };
        let refusal = |refusal: Refusal| match refusal {
            Refusal::Locked { session } => Refusal::Locked { session: self.modeled(session) },
            Refusal::HeldByYou { session } => Refusal::HeldByYou { session: self.modeled(session) },
            Refusal::HandoverPending { by } => Refusal::HandoverPending { by: self.modeled(by) },
            Refusal::AlreadyQueued { session, position } => {
                Refusal::AlreadyQueued { session: self.modeled(session), position }
            }
            other => other,
        };
        applied.map(|effects| effects.into_iter().map(effect).collect()).map_err(refusal)
    }
}
