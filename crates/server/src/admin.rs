//! What an operator does at the console, with the database at hand: migrations, the first owner, a member's token, a lost engine.

use std::io::Write;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use greenroom_domain::id::{OrganizationId, TokenId, UserId};
use greenroom_domain::slug::Slug;
use greenroom_domain::text::{Email, Name};
use greenroom_domain::token::TokenKind;
use greenroom_store::system::bootstrap::{NewOrganization, NewToken};
use greenroom_store::system::migrate::MIGRATION_TIMEOUT;
use greenroom_store::{PoolSettings, Store, connect};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::token::new_secret;
use crate::config::DatabaseConfig;

#[derive(Debug, Subcommand)]
pub enum MigrateCommand {
    /// Bring the schema up to date.
    Up,
    /// Take migrations back. This deletes what they hold.
    Down {
        /// The version to go back to; 0 takes back all.
        #[arg(long)]
        to: i64,
    },
    /// Show which migrations have been applied.
    Status,
}

#[derive(Debug, Subcommand)]
pub enum AdminCommand {
    /// Make an organization with its first owner, and print their token.
    Bootstrap(Bootstrap),
    /// Make a token for a member, and print it.
    CreateToken(CreateToken),
    /// Wake every live deployment: rebuilds the workflows of a Temporal that was lost. Safe at any time.
    WakeAll,
    /// Print this installation's id, by which its workflows are told apart from those of others on the same Temporal.
    Installation {
        /// Give it a new one, after the database was copied for a second installation. Restart all of its daemons then.
        #[arg(long)]
        renew: bool,
    },
}

#[derive(Debug, Args)]
pub struct Bootstrap {
    /// The organization's name in addresses, such as `acme`.
    #[arg(long)]
    slug: String,
    /// The organization's name for people; the slug if left out.
    #[arg(long)]
    name: Option<String>,
    #[arg(long)]
    owner_email: String,
    #[arg(long)]
    owner_name: String,
}

#[derive(Debug, Args)]
pub struct CreateToken {
    /// The organization's slug.
    #[arg(long)]
    organization: String,
    /// The member's address.
    #[arg(long)]
    email: String,
    /// What the token is for.
    #[arg(long)]
    name: String,
    /// For whom it acts: user, ci or agent.
    #[arg(long, default_value = "user")]
    kind: String,
}

pub async fn migrate(database: &DatabaseConfig, command: &MigrateCommand) -> anyhow::Result<()> {
    let store = store(database)?;
    match command {
        MigrateCommand::Up => store.migrate_up().await?,
        MigrateCommand::Down { to } => store.migrate_down(*to).await?,
        MigrateCommand::Status => {}
    }
    for migration in store.migrations().await? {
        let state = if migration.applied { "applied" } else { "pending" };
        writeln!(std::io::stdout(), "{:04} {state} {}", migration.version, migration.description)?;
    }
    Ok(())
}

pub async fn admin(database: &DatabaseConfig, command: &AdminCommand) -> anyhow::Result<()> {
    let store = store(database)?;
    let made = match command {
        AdminCommand::Bootstrap(arguments) => bootstrap(&store, arguments).await?,
        AdminCommand::CreateToken(arguments) => create_token(&store, arguments).await?,
        // The daemons' relays take it from here.
        AdminCommand::WakeAll => json!({ "woken": store.wake_all().await? }),
        AdminCommand::Installation { renew: false } => {
            json!({ "installationId": store.installation().await? })
        }
        AdminCommand::Installation { renew: true } => {
            json!({ "installationId": store.renew_installation().await? })
        }
    };
    writeln!(std::io::stdout(), "{made}")?;
    Ok(())
}

async fn bootstrap(store: &Store, arguments: &Bootstrap) -> anyhow::Result<Value> {
    let slug: Slug = arguments.slug.parse().context("--slug")?;
    let name = Name::new(arguments.name.as_deref().unwrap_or(slug.as_str())).context("--name")?;
    let (id, secret) = (OrganizationId::from(Uuid::now_v7()), new_secret());
    let organization = NewOrganization {
        id,
        slug: &slug,
        name: &name,
        owner_id: UserId::from(Uuid::now_v7()),
        owner_email: &Email::new(&arguments.owner_email).context("--owner-email")?,
        owner_name: &Name::new(&arguments.owner_name).context("--owner-name")?,
    };
    let token = NewToken {
        id: TokenId::from(Uuid::now_v7()),
        secret: &secret,
        name: &Name::new("bootstrap")?,
        kind: TokenKind::User,
    };
    match store.bootstrap(&organization, &token).await {
        Ok(user) => Ok(json!({ "organizationId": id, "userId": user, "token": secret.reveal() })),
        Err(error) if error.is_taken("organizations_slug_key") => bail!(
            "the organization `{slug}` exists already; for a token of one of its members run `greenroomd admin create-token`"
        ),
        Err(error) => Err(error.into()),
    }
}

async fn create_token(store: &Store, arguments: &CreateToken) -> anyhow::Result<Value> {
    let secret = new_secret();
    let token = NewToken {
        id: TokenId::from(Uuid::now_v7()),
        secret: &secret,
        name: &Name::new(&arguments.name).context("--name")?,
        kind: arguments.kind.parse().context("--kind")?,
    };
    let organization: Slug = arguments.organization.parse().context("--organization")?;
    let email = Email::new(&arguments.email).context("--email")?;
    match store.create_token_for(&organization, &email, &token).await? {
        Some(user) => Ok(json!({ "tokenId": token.id, "userId": user, "token": secret.reveal() })),
        None => bail!("`{}` is not a member of `{organization}`", arguments.email),
    }
}

fn store(database: &DatabaseConfig) -> anyhow::Result<Store> {
    let mut settings = PoolSettings::new(&database.database_url, "greenroom admin", 2);
    settings.statement_timeout = MIGRATION_TIMEOUT;
    settings.lock_timeout = MIGRATION_TIMEOUT;
    Ok(Store::new(connect(&settings).context("GREENROOM_DATABASE_URL is not a PostgreSQL address")?))
}
