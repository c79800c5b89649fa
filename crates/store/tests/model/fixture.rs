//! The fixture of one case: a pipeline with two environments, and the mapping of session ids.

use std::cell::Cell;

use greenroom_domain::id::{EnvironmentId, OrganizationId, PipelineId, SessionId, UserId};
use greenroom_domain::role::Role;
use greenroom_domain::step::StepLock;
use greenroom_domain::text::Name;
use greenroom_store::environment_definition::DefinedEnvironment;
use greenroom_store::pipeline::CheckedDefinition;
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use crate::clock;
use crate::model::user_id;
use crate::shared_fixture::SharedFixture;
use crate::step::{DEFAULT_LEASE, ENVIRONMENTS, MAX_LEASE, MAX_STAY, PEOPLE};

pub const NAMES: [&str; ENVIRONMENTS] = ["blue", "green"];
pub const REQUEST: &str = "model-request";

pub struct ModelFixture {
    pub shared: &'static SharedFixture,
    pub pipeline: PipelineId,
    pub slug: String,
    pub environments: [EnvironmentId; ENVIRONMENTS],
    /// The start of the case by the database's clock.
    pub started: Timestamp,
    /// The position of the newest event that was compared.
    pub last_event_position: Cell<i64>,
    /// The database id that corresponds to the model's session id 0.
    first_id: u128,
}

impl ModelFixture {
    pub async fn begin() -> Self {
        let shared = SharedFixture::get();
        let first_id = Uuid::now_v7().as_u128() & !0xffff;
        let (pipeline, slug) = (PipelineId::from(Uuid::now_v7()), format!("p{first_id:032x}"));
        let definition = CheckedDefinition {
            source: String::new(),
            definition: json!({}),
            lock: StepLock::default(),
            digest: String::new(),
        };
        let environments: [EnvironmentId; ENVIRONMENTS] = std::array::from_fn(|_| Uuid::now_v7().into());
        let defined: Vec<_> =
            environments.into_iter().zip(NAMES).map(|(id, name)| defined(id, name)).collect();

        let credential = shared.people[0].credential;
        let mut command =
            shared.store.command(shared.organization(), credential, REQUEST).await.unwrap().unwrap();
        let name = Name::new(&slug).unwrap();
        command.create_pipeline(pipeline, &slug.parse().unwrap(), &name, None, &definition).await.unwrap();
        command.define_environments(pipeline, &defined).await.unwrap();
        command.commit().await.unwrap();

        // Delete the events of the previous case.
        sqlx::query("delete from event_intake").execute(&shared.pool).await.unwrap();
        let started = clock::now(&shared.pool).await;
        Self { shared, pipeline, slug, environments, started, last_event_position: Cell::new(0), first_id }
    }

    pub fn organization(&self) -> OrganizationId {
        self.shared.organization()
    }

    /// Returns a session's id in the database.
    pub fn id(&self, modeled: SessionId) -> SessionId {
        Uuid::from_u128(self.first_id + modeled.uuid().as_u128()).into()
    }

    /// Returns a session's id in the model.
    pub fn modeled(&self, real: SessionId) -> SessionId {
        Uuid::from_u128(real.uuid().as_u128().wrapping_sub(self.first_id)).into()
    }

    pub fn modeled_user(&self, real: UserId) -> UserId {
        user_id(self.shared.index_of(real))
    }

    /// Deletes everything that the sweeper would find in later cases.
    pub async fn clear(&self) {
        for user in 0..PEOPLE {
            self.shared.set_role(user, false).await;
        }
        let ids = self.environments.map(EnvironmentId::uuid);
        for sql in [
            "delete from deployments where organization_id = $1 and environment_id = any($2)",
            "delete from sessions where organization_id = $1 and environment_id = any($2)",
            "delete from environments where organization_id = $1 and id = any($2)",
        ] {
            sqlx::query(sql)
                .bind(self.organization().uuid())
                .bind(&ids[..])
                .execute(&self.shared.pool)
                .await
                .unwrap();
        }
    }
}

fn defined(id: EnvironmentId, name: &str) -> DefinedEnvironment {
    DefinedEnvironment {
        id,
        name: name.to_owned(),
        labels: Vec::new(),
        url: None,
        configuration: serde_json::json!({}),
        default_lease_seconds: DEFAULT_LEASE,
        longest_lease_seconds: MAX_LEASE,
        force_role: Role::Developer,
        force_reason_required: false,
        handover_grace_seconds: None,
        max_stay_seconds: MAX_STAY,
    }
}
