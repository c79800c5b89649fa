//! The fixture that all cases of a run share: one database, one organization, and three users with a token
//! each.

use std::sync::OnceLock;

use greenroom_domain::id::{OrganizationId, TokenId, UserId};
use greenroom_domain::principal::{Credential, Principal};
use greenroom_domain::role::Role;
use greenroom_domain::slug::Slug;
use greenroom_domain::text::{Email, Name};
use greenroom_domain::token::{TokenKind, TokenSecret};
use greenroom_domain::token_grant::TokenGrant;
use greenroom_store::Store;
use greenroom_store::service_account::ServiceAccountContent;
use greenroom_store::system::bootstrap::{NewOrganization, NewToken};
use greenroom_store::token::NewTokenOf;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::runtime::{Builder, Runtime};
use uuid::Uuid;

use crate::step::PEOPLE;
use crate::tally::Tally;

static SHARED_FIXTURE: OnceLock<SharedFixture> = OnceLock::new();

pub struct SharedFixture {
    /// The cases are synchronous functions, which block on this runtime.
    pub runtime: Runtime,
    pub pool: PgPool,
    pub store: Store,
    pub people: [Principal; PEOPLE],
    pub tally: Tally,
}

impl SharedFixture {
    /// Returns the fixture. It is static, because the functions that run the cases have no argument for it.
    pub fn get() -> &'static Self {
        SHARED_FIXTURE.get().unwrap()
    }

    /// Creates the fixture. Call this on the thread that the cases run on.
    pub fn prepare(pool: PgPoolOptions, database: PgConnectOptions) -> &'static Self {
        // The data need not survive a crash, so commits don't wait for the disk.
        let database = database.options([("synchronous_commit", "off")]);
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (pool, store, people) = runtime.block_on(async {
            // A ping of the connection before each query would double the cost of a case.
            let pool =
                pool.max_connections(2).test_before_acquire(false).connect_with(database).await.unwrap();
            let store = Store::new(pool.clone());
            let people = people(&store).await;
            (pool, store, people)
        });
        SHARED_FIXTURE.get_or_init(|| Self { runtime, pool, store, people, tally: Tally::default() })
    }

    pub fn organization(&self) -> OrganizationId {
        self.people[0].organization_id
    }

    /// Removes or restores a user's right to hold sessions.
    pub async fn set_role(&self, user: usize, demoted: bool) {
        let person = &self.people[user];
        let role = if demoted { "viewer" } else { person.role.as_str() };
        sqlx::query("update memberships set role = $3 where organization_id = $1 and user_id = $2")
            .bind(person.organization_id.uuid())
            .bind(person.user_id.uuid())
            .bind(role)
            .execute(&self.pool)
            .await
            .unwrap();
    }

    /// Returns the index of a user.
    pub fn index_of(&self, id: UserId) -> usize {
        self.people.iter().position(|person| person.user_id == id).unwrap()
    }
}

/// Creates an owner, a maintainer and a service account with the role developer, each with a token of another kind.
async fn people(store: &Store) -> [Principal; PEOPLE] {
    let slug: Slug = "model".parse().unwrap();
    let organization = OrganizationId::from(Uuid::now_v7());
    let address = |name: &str| Email::new(&format!("{name}@model.test")).unwrap();
    let owner = NewOrganization {
        id: organization,
        slug: &slug,
        name: &Name::new("Model").unwrap(),
        owner_id: UserId::from(Uuid::now_v7()),
        owner_email: &address("ada"),
        owner_name: &Name::new("Ada").unwrap(),
    };
    let tokens: [TokenId; PEOPLE] = std::array::from_fn(|_| Uuid::now_v7().into());
    let secrets: [TokenSecret; PEOPLE] = std::array::from_fn(|user| TokenSecret::new([user as u8; 30]));
    let name = Name::new("model").unwrap();
    let grant = |kind: TokenKind| TokenGrant { kind, scopes: kind.default_scopes(), ..TokenGrant::of_user() };
    let grants = [TokenKind::User, TokenKind::Ci, TokenKind::Agent].map(grant);
    let token = |user: usize| NewToken {
        id: tokens[user],
        secret: &secrets[user],
        name: &name,
        grant: &grants[user],
    };
    store.bootstrap(&owner, &token(0)).await.unwrap();

    let command = || store.command(organization, Credential::Token(tokens[0]), "people");
    let (email, ben) = (address("ben"), Name::new("Ben").unwrap());
    let mut adding = command().await.unwrap().unwrap();
    adding.add_member(Uuid::now_v7().into(), &email, &ben, Role::Maintainer).await.unwrap().unwrap();
    adding.commit().await.unwrap();
    store.create_token_for(&slug, &email, &token(1)).await.unwrap().unwrap();
    let cleo = ServiceAccountContent { name: "Cleo".to_owned(), description: None, role: Role::Developer };
    let mut adding = command().await.unwrap().unwrap();
    let cleo = adding.create_service_account(Uuid::now_v7().into(), &cleo).await.unwrap();
    let of = NewTokenOf::ServiceAccount { id: cleo.id, name: &cleo.name };
    adding.create_token(tokens[2], of, &secrets[2], &name, &grants[2]).await.unwrap();
    adding.commit().await.unwrap();

    let mut people = Vec::new();
    for secret in &secrets {
        people.push(store.authenticate(&secret.hash()).await.unwrap().unwrap());
    }
    people.try_into().unwrap()
}
