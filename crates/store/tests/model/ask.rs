//! An ask carried out on the real thing, as the server does it.

use greenroom_domain::environment::{Applied, Command, Effect, Refusal};
use greenroom_domain::lock::Claim;
use greenroom_store::grant::{Asked, AtOnce, PlainClaim};
use greenroom_store::lock::NewSession;
use greenroom_store::pipeline::PipelineName;
use greenroom_store::system::sweeper::DueEnvironment;
use jiff::Timestamp;
use uuid::Uuid;

use crate::case::{Case, NAMES, REQUEST};
use crate::model::{Ask, Expected, user_of};
use crate::step::Way;

/// What came of an ask.
pub enum Answer {
    /// In the model's terms.
    Applied(Applied),
    AtOnce(Box<AtOnce>),
    Swept,
}

impl Case {
    /// A plain claim, and a release, try the one statement first if their way says so. What it leaves alone, and all else,
    /// is the machine's.
    pub async fn carry_out(&self, expected: &Expected) -> Answer {
        let Expected { environment, ask, .. } = expected;
        if ask.command == Command::Sweep {
            self.sweep(expected).await;
            return Answer::Swept;
        }
        if ask.way == Way::AtOnce
            && let Some(done) = self.at_once(*environment, ask).await
        {
            return Answer::AtOnce(Box::new(done));
        }
        self.command(*environment, ask).await
    }

    /// One environment is called by its pipeline's id, the other by its slug.
    fn pipeline_name(&self, environment: usize) -> PipelineName {
        if environment == 0 {
            PipelineName::Id(self.pipeline)
        } else {
            PipelineName::Slug(self.slug.parse().unwrap())
        }
    }

    pub async fn at_once(&self, environment: usize, ask: &Ask) -> Option<AtOnce> {
        let (store, pipeline) = (&self.ground.store, self.pipeline_name(environment));
        let asked = self.asked(environment, ask, &pipeline);
        match ask.command {
            Command::Claim(claim) => store.grant(asked, self.plain(claim, ask)).await.unwrap(),
            Command::Release(session) => store.release(asked, self.id(session)).await.unwrap(),
            _ => None,
        }
    }

    fn asked<'a>(&'a self, environment: usize, ask: &Ask, pipeline: &'a PipelineName) -> Asked<'a> {
        let principal = &self.ground.people[ask.by];
        Asked { principal, request_id: REQUEST, pipeline, environment: NAMES[environment] }
    }

    fn plain<'a>(&self, claim: Claim, ask: &'a Ask) -> PlainClaim<'a> {
        PlainClaim {
            session: self.id(claim.session),
            context: ask.context.as_deref(),
            ttl_seconds: ask.lease,
        }
    }

    async fn command(&self, environment: usize, ask: &Ask) -> Answer {
        let token = self.ground.people[ask.by].token_id;
        let mut command =
            self.ground.store.command(self.organization(), token, REQUEST).await.unwrap().unwrap();
        if ask.way == Way::AtOnceInCommand {
            let pipeline = self.pipeline_name(environment);
            let asked = self.asked(environment, ask, &pipeline);
            let done = match ask.command {
                Command::Claim(claim) => command.grant(asked, self.plain(claim, ask)).await.unwrap(),
                Command::Release(session) => command.release(asked, self.id(session)).await.unwrap(),
                _ => None,
            };
            if let Some(done) = done {
                command.commit().await.unwrap();
                return Answer::AtOnce(Box::new(done));
            }
        }
        let mut locked = command.lock_environment(self.pipeline, NAMES[environment]).await.unwrap().unwrap();
        let person = &self.ground.people[ask.user];
        let new = NewSession {
            user_name: person.user_name.clone(),
            user_kind: person.token_kind.to_string(),
            // A user's release carries no context; only who ends another's session gives a reason.
            context: ask.context.clone().filter(|_| !matches!(ask.command, Command::Release(_))),
            commit_id: ask.commit.clone(),
            token_id: Some(person.token_id),
        };
        let applied = command.apply(&mut locked, self.in_database(ask.command), &new).await.unwrap();
        let applied = self.in_model(applied);
        if let (Ok(effects), Some(commit), Command::Queue(claim)) = (&applied, &ask.commit, ask.command)
            && effects
                .iter()
                .any(|effect| matches!(effect, Effect::Granted { session, .. } if *session == claim.session))
        {
            let holder = (self.id(claim.session), person.user_id);
            command.create_deployment(&locked, Uuid::now_v7().into(), holder, commit).await.unwrap();
        }
        // A refusal drops the command.
        if applied.is_ok() {
            command.commit().await.unwrap();
        }
        Answer::Applied(applied)
    }

    async fn sweep(&self, expected: &Expected) {
        let due = DueEnvironment {
            organization_id: self.organization(),
            environment_id: self.environments[expected.environment],
        };
        let found = self.ground.store.due_environments(i64::MAX, &[]).await.unwrap();
        assert!(
            found.contains(&due) || !expected.due,
            "the sweeper does not find what the clock has decided"
        );
        self.ground.store.sweep_environment(due).await.unwrap();
        let found = self.ground.store.due_environments(i64::MAX, &[]).await.unwrap();
        assert!(!found.contains(&due), "what was swept is due again at once");
    }

    fn in_database(&self, command: Command) -> Command {
        let claim = |claim: Claim| Claim {
            session: self.id(claim.session),
            user: self.ground.people[user_of(claim.user)].user_id,
            ..claim
        };
        match command {
            Command::Claim(asked) => Command::Claim(claim(asked)),
            Command::Queue(asked) => Command::Queue(claim(asked)),
            Command::Force(asked) => Command::Force(claim(asked)),
            Command::Release(session) => Command::Release(self.id(session)),
            Command::Renew(session) => Command::Renew(self.id(session)),
            Command::Hear(session) => Command::Hear(self.id(session)),
            Command::Attend(session) => Command::Attend(self.id(session)),
            Command::Transfer { from, to } => Command::Transfer { from: self.id(from), to: claim(to) },
            Command::RequestHandover { of, by, grace } => {
                Command::RequestHandover { of: self.id(of), by: claim(by), grace }
            }
            Command::AcceptHandover(session) => Command::AcceptHandover(self.id(session)),
            Command::DeclineHandover(session) => Command::DeclineHandover(self.id(session)),
            Command::Sweep => Command::Sweep,
        }
    }

    fn in_model(&self, applied: Applied) -> Applied {
        let effect = |effect: Effect| match effect {
            Effect::Granted { session, fence } => Effect::Granted { session: self.modeled(session), fence },
            Effect::Queued { session } => Effect::Queued { session: self.modeled(session) },
            Effect::Ended { session, end } => Effect::Ended { session: self.modeled(session), end },
            // When it is due is compared where it is shown.
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
