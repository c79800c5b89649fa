//! Operators' commands that work directly on the database: migrations, the first owner, a member's token or
//! sign-in link, waking up workflows.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand};
use greenroom_app::browser_session::new_secret as new_sign_in_secret;
use greenroom_app::public_url::PublicUrl;
use greenroom_app::sign_in::link;
use greenroom_app::token::new_secret;
use greenroom_domain::id::{OrganizationId, TokenId, UserId};
use greenroom_domain::scope::{Scope, Scopes};
use greenroom_domain::slug::Slug;
use greenroom_domain::text::{Email, Name};
use greenroom_domain::token_grant::{RequestedExpiry, TokenGrant, TokenRefusal, TokenRequest};
use greenroom_engine::Engine;
use greenroom_store::pipeline::PipelineName;
use greenroom_store::system::bootstrap::{NewOrganization, NewToken};
use greenroom_store::system::migrate::{MIGRATION_LOCK_TIMEOUT, MIGRATION_STATEMENT_TIMEOUT};
use greenroom_store::{PoolSettings, Store, connect, probe};
use greenroom_worker::objects::Objects;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::config::{DatabaseConfig, ObjectsConfig, SecretsConfig, TemporalConfig, id_token_issuer};
use crate::doctor::{examine, require_healthy};
use crate::give_up::{GiveUpCommand, give_up};
use crate::secret_keys::{oidc_documents, reseal, rewrap_keys};
use crate::verify::{require_complete, verify};

/// How long an operator's command waits for a lock. It can be long: these are row locks, which do not block
/// readers.
const LOCK_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Debug, Subcommand)]
pub enum MigrateCommand {
    /// Bring the schema up to date.
    Up {
        #[command(flatten)]
        retry: MigrationRetry,
    },
    /// Revert migrations. This deletes the data in what they created.
    Down {
        /// The version to revert to; 0 reverts all.
        #[arg(long)]
        to: i64,
        /// Revert although daemons are connected that need what is reverted. They fail.
        #[arg(long)]
        even_if_used: bool,
        #[command(flatten)]
        retry: MigrationRetry,
    },
    /// Show which migrations have been applied.
    Status,
}

#[derive(Clone, Copy, Debug, Args)]
pub struct MigrationRetry {
    /// For how many seconds a migration is retried that can't acquire a lock. Each attempt waits for two
    /// seconds, and other transactions continue in between.
    #[arg(long, default_value_t = 300)]
    pub retry_seconds: u64,
}

impl MigrationRetry {
    const fn limit(self) -> Duration {
        Duration::from_secs(self.retry_seconds)
    }
}

#[derive(Debug, Subcommand)]
pub enum AdminCommand {
    /// Create an organization with its first owner, and print their token and a link to sign in.
    Bootstrap(Bootstrap),
    /// Create a token for a member, and print it.
    CreateToken(CreateToken),
    /// Make a link with which a person signs in to the dashboard for the first time, or after a lost password,
    /// and print it. It is valid for 15 minutes. Using it resets the account.
    SignInLink(SignInLink),
    /// Wake up every live deployment. This recreates the workflows after Temporal has lost its data. Safe at
    /// any time.
    WakeAll,
    /// Print this installation's id, which distinguishes its workflows from those of other installations on
    /// the same Temporal.
    Installation {
        /// Assign a new id, after the database was copied for a second installation. Restart all daemons of
        /// this one afterwards.
        #[arg(long)]
        renew: bool,
    },
    /// Wrap the data keys of all organizations with the active master key, online. Run this after a new master
    /// key was put first in the list and all daemons have read it; then the old one can be removed.
    RewrapKeys,
    /// Make a new data key for an organization, and seal the values of all of its secrets and the credentials of its step
    /// registries with it, online.
    Reseal {
        /// The organization's slug.
        #[arg(long)]
        organization: String,
    },
    /// Write the documents by which relying parties verify id tokens, to be served at the issuer's address by
    /// another web server. Run this at least every half hour: a new key signs an hour after it was published.
    OidcDocuments {
        /// The folder. The files are `.well-known/openid-configuration` and `oidc/jwks.json` in it.
        #[arg(long)]
        out: PathBuf,
        /// The issuer, as the servers have it.
        #[arg(long, env = "GREENROOM_ID_TOKEN_ISSUER", value_parser = id_token_issuer)]
        id_token_issuer: String,
    },
    /// Check what a daemon needs: the database's settings and schema, the clock, Temporal, the object store and the master keys.
    /// Exit code 1 if something would not work.
    Doctor {
        #[command(flatten)]
        temporal: Box<TemporalConfig>,
        #[command(flatten)]
        objects: ObjectsConfig,
    },
    /// Check a database, such as a restored one: the schema's version, the constraints of all tables, locks, deployments,
    /// the numbers of events, whether each object exists, and whether everything that is sealed opens with these master
    /// keys. It only reads. Exit code 1 if something is broken.
    Verify {
        /// The object store; without it, objects are not looked for.
        #[arg(long, env = "GREENROOM_OBJECTS")]
        objects: Option<String>,
    },
    /// End a job, the occupant of a work slot, or a teardown whose runner does not end it.
    #[command(subcommand)]
    GiveUp(GiveUpCommand),
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
    #[command(flatten)]
    address: LinkAddress,
}

#[derive(Debug, Args)]
pub struct SignInLink {
    /// The person's address.
    #[arg(long)]
    email: String,
    #[command(flatten)]
    address: LinkAddress,
}

#[derive(Debug, Args)]
pub struct LinkAddress {
    /// The address at which browsers reach the server, for the printed link.
    #[arg(long, env = "GREENROOM_PUBLIC_URL", default_value = "http://127.0.0.1:7420")]
    public_url: PublicUrl,
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
    /// The kind of the token: user, ci or agent.
    #[arg(long, default_value = "user")]
    kind: String,
    /// What it may do: read, hold, deploy, start, write, admin, separated by commas. The defaults of the kind
    /// if left out.
    #[arg(long, value_delimiter = ',')]
    scopes: Vec<String>,
    /// A pipeline, by id or slug, that it is limited to; can be repeated. All pipelines if left out.
    #[arg(long = "pipeline")]
    pipelines: Vec<String>,
    /// When it expires, as in 2027-01-31T00:00:00Z, or `never` for the kind user. In 90 days if left out.
    #[arg(long, value_parser = expiry)]
    expires_at: Option<RequestedExpiry>,
    /// How many sessions the token, and those made by it, may hold at a time. Any number if left out.
    #[arg(long)]
    max_sessions: Option<i64>,
}

pub async fn migrate(database: &DatabaseConfig, command: &MigrateCommand) -> anyhow::Result<()> {
    let store = store(database, MIGRATION_LOCK_TIMEOUT).await?;
    match command {
        MigrateCommand::Up { retry } => store.migrate_up(retry.limit()).await?,
        MigrateCommand::Down { to, even_if_used, retry } => {
            store.migrate_down(*to, retry.limit(), *even_if_used).await?;
        }
        MigrateCommand::Status => {}
    }
    for migration in store.migrations().await? {
        let state = if migration.applied { "applied" } else { "pending" };
        writeln!(std::io::stdout(), "{:04} {state} {}", migration.version, migration.description)?;
    }
    Ok(())
}

pub async fn admin(
    database: &DatabaseConfig,
    secrets: &SecretsConfig,
    command: &AdminCommand,
) -> anyhow::Result<()> {
    let store = store(database, LOCK_TIMEOUT).await?;
    let problem = store.schema().await?.problem();
    if let AdminCommand::Doctor { temporal, objects } = command {
        let (engine, keys) = (Engine::new(temporal.engine()?), secrets.keys().await);
        let found = examine(&store, problem, &engine, &objects.open(), &keys).await?;
        writeln!(std::io::stdout(), "{found:#}")?;
        return require_healthy(&found);
    }
    if let Some(problem) = problem {
        bail!("{problem}");
    }
    let made = match command {
        AdminCommand::Bootstrap(arguments) => bootstrap(&store, arguments).await?,
        AdminCommand::CreateToken(arguments) => create_token(&store, arguments).await?,
        AdminCommand::SignInLink(arguments) => {
            let email = option("--email", Email::new(&arguments.email))?;
            sign_in_link(&store, &email, &arguments.address.public_url).await?
        }
        // The daemons' relays deliver the wake-ups.
        AdminCommand::GiveUp(command) => give_up(&store, command).await?,
        AdminCommand::RewrapKeys => rewrap_keys(&store, &secrets.keys().await?).await?,
        AdminCommand::Reseal { organization } => {
            let slug: Slug = option("--organization", organization.parse())?;
            reseal(&store, &secrets.keys().await?, &slug).await?
        }
        AdminCommand::OidcDocuments { out, id_token_issuer } => {
            oidc_documents(&store, &secrets.keys().await?, id_token_issuer, out).await?
        }
        AdminCommand::Doctor { .. } => return Ok(()),
        AdminCommand::Verify { objects } => {
            let objects =
                objects.as_deref().map(|address| Objects::open(address, std::env::vars())).transpose()?;
            let found = verify(&store, &secrets.keys().await?, objects.as_ref()).await?;
            writeln!(std::io::stdout(), "{found:#}")?;
            return require_complete(&found);
        }
        AdminCommand::WakeAll => json!({ "woken": store.wake_all_deployments().await? }),
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
    let slug: Slug = option("--slug", arguments.slug.parse())?;
    let name = option("--name", Name::new(arguments.name.as_deref().unwrap_or(slug.as_str())))?;
    let (id, secret) = (OrganizationId::from(Uuid::now_v7()), new_secret());
    let organization = NewOrganization {
        id,
        slug: &slug,
        name: &name,
        owner_id: UserId::from(Uuid::now_v7()),
        owner_email: &option("--owner-email", Email::new(&arguments.owner_email))?,
        owner_name: &option("--owner-name", Name::new(&arguments.owner_name))?,
    };
    let token = NewToken {
        id: TokenId::from(Uuid::now_v7()),
        secret: &secret,
        name: &Name::new("bootstrap")?,
        grant: &TokenGrant::of_user(),
    };
    match store.bootstrap(&organization, &token).await {
        Ok(user) => {
            let link = sign_in_link(store, organization.owner_email, &arguments.address.public_url).await?;
            Ok(json!({
                "organizationId": id, "userId": user, "token": secret.reveal(), "signInUrl": link["url"],
            }))
        }
        Err(error) if error.is_taken("organizations_slug_key") => bail!(
            "the organization `{slug}` exists already; for a token of one of its members run `greenroomd admin create-token`"
        ),
        Err(error) => Err(error.into()),
    }
}

async fn create_token(store: &Store, arguments: &CreateToken) -> anyhow::Result<Value> {
    let slug: Slug = option("--organization", arguments.organization.parse())?;
    let Some((organization, now)) = store.organization_by_slug(&slug).await? else {
        bail!("there is no organization `{slug}`");
    };
    let scopes = arguments.scopes.iter().map(|scope| scope.parse::<Scope>());
    let scopes: Scopes = option("--scopes", scopes.collect::<Result<_, _>>())?;
    let mut pipelines = Vec::with_capacity(arguments.pipelines.len());
    for text in &arguments.pipelines {
        let name = PipelineName::parse(text).context("--pipeline")?;
        let found = store.pipeline(organization, &name).await?;
        pipelines.push(found.with_context(|| format!("`{slug}` has no pipeline `{text}`"))?.id);
    }
    let request = TokenRequest {
        kind: option("--kind", arguments.kind.parse())?,
        allow_force: None,
        expiry: arguments.expires_at.unwrap_or_default(),
        scopes: (!arguments.scopes.is_empty()).then_some(scopes),
        pipelines: (!pipelines.is_empty()).then_some(pipelines),
        max_sessions: arguments.max_sessions,
    };
    let secret = new_secret();
    let token = NewToken {
        id: TokenId::from(Uuid::now_v7()),
        secret: &secret,
        name: &option("--name", Name::new(&arguments.name))?,
        grant: &request
            .resolve(None, now)
            .map_err(|refusal| anyhow!("{}: {refusal}", option_of(&refusal)))?,
    };
    let email = option("--email", Email::new(&arguments.email))?;
    match store.create_token_for(&slug, &email, &token).await? {
        Some(user) => Ok(json!({
            "tokenId": token.id, "userId": user, "token": secret.reveal(), "kind": token.grant.kind,
            "scopes": token.grant.scopes, "pipelines": token.grant.pipelines.ids(),
            "expiresAt": token.grant.expires_at, "maxSessions": token.grant.max_sessions,
        })),
        None => bail!("`{}` is not a member of `{slug}`", arguments.email),
    }
}

async fn sign_in_link(store: &Store, email: &Email, public_url: &PublicUrl) -> anyhow::Result<Value> {
    let secret = new_sign_in_secret();
    match store.create_sign_in_link_for(email, &secret.hash()).await? {
        Some((user, expires_at)) => {
            let url = link::url(public_url, &secret);
            Ok(json!({ "userId": user, "url": url, "expiresAt": expires_at }))
        }
        None => bail!("there is no person with the address `{}`", email.as_str()),
    }
}

/// Prefixes the error with the option whose value is invalid: the error's text is the rest of the sentence.
fn option<T, E: std::fmt::Display>(name: &str, read: Result<T, E>) -> anyhow::Result<T> {
    read.map_err(|error| anyhow!("{name} {error}"))
}

/// Parses a time, or `never`.
fn expiry(text: &str) -> Result<RequestedExpiry, String> {
    match text {
        "never" => Ok(RequestedExpiry::Never),
        text => text.parse().map(RequestedExpiry::At).map_err(|_| "must be a time or `never`".to_owned()),
    }
}

/// Returns the option that a refusal is about.
fn option_of(refusal: &TokenRefusal) -> &'static str {
    match refusal {
        TokenRefusal::NoScopes | TokenRefusal::AdminScope { .. } => "--scopes",
        TokenRefusal::PipelineCount => "--pipeline",
        TokenRefusal::SessionLimit => "--max-sessions",
        TokenRefusal::ExpiryPast | TokenRefusal::ExpiryTooLate { .. } => "--expires-at",
        TokenRefusal::Exceeds(_) => "--kind",
    }
}

async fn store(database: &DatabaseConfig, lock_timeout: Duration) -> anyhow::Result<Store> {
    let mut settings = PoolSettings::new(&database.database_url, "greenroom admin", 2);
    settings.statement_timeout = MIGRATION_STATEMENT_TIMEOUT;
    settings.lock_timeout = lock_timeout;
    let pool = connect(&settings).context("GREENROOM_DATABASE_URL is not a PostgreSQL address")?;
    probe(&database.database_url).await.context("can't connect to the database of GREENROOM_DATABASE_URL")?;
    Ok(Store::new(pool))
}
