//! The organization, the people and the environments of the outages.

use uuid::Uuid;

use crate::fault::client::http::Http;
use crate::fault::fixture::{LockFixture, NewMember, Person};
use crate::fault::stack::Stack;

/// Environments of which one half is used by an outage while the other half is judged.
pub(super) const ENVIRONMENTS: usize = 2 * TRIALS;
/// Trials per outage.
pub(super) const TRIALS: usize = 10;
/// How long a person keeps a place without a heartbeat, as in the definition.
pub(super) const PERSON_STAY: f64 = 900.0;
pub(super) const PROGRAM_STAY: f64 = 120.0;
const SLUG: &str = "outages";

pub(super) struct OutageFixture {
    pub(super) organization: Uuid,
    /// The path of the environments, below `/api/v1`.
    pub(super) path: String,
    pub(super) environments: Vec<String>,
    pub(super) holder: Person,
    /// May take over by force, so that silence accepts a request of theirs.
    pub(super) person: Person,
    pub(super) program: Person,
    pub(super) rival: Person,
    pub(super) owner_token: String,
    pub(super) http: Http,
}

impl OutageFixture {
    pub(super) async fn make(stack: &Stack) -> anyhow::Result<Self> {
        let environments: Vec<String> = (1..=ENVIRONMENTS).map(|number| format!("away-{number}")).collect();
        let mut made = LockFixture::default();
        made.add_organization(stack, SLUG.to_owned(), &definition(&environments)).await?;
        let holder = made.add_member(stack, NewMember::developer(0, "holder", "user")).await?;
        let person = made.add_member(stack, NewMember::developer(0, "person", "user")).await?;
        let program = made.add_member(stack, NewMember::developer(0, "program", "agent")).await?;
        let rival = made.add_member(stack, NewMember::developer(0, "rival", "user")).await?;
        let organization = made.organizations.remove(0);
        Ok(Self {
            organization: organization.id,
            path: organization.path,
            environments,
            holder,
            person,
            program,
            rival,
            owner_token: organization.owner_token,
            http: Http::new(stack.servers.iter().map(|server| server.base_url()).collect())?,
        })
    }
}

fn definition(names: &[String]) -> String {
    let rules = "lease: { default: 1h, max: 24h }, queue: { maxStay: 15m }";
    let named: String = names.iter().map(|name| format!("  {name}: {{ {rules} }}\n")).collect();
    format!(
        "ephemeralEnvironments:\n{named}stages:\n  build:\n    steps:\n      - image: busybox\n        run: 'true'\n"
    )
}
