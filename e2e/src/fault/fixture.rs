//! The fixture of a campaign: the organizations, people and environments that the clients use.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fault::history::Environment;
use crate::fault::options::Locks;
use crate::fault::stack::Stack;

pub(crate) const ORGANIZATIONS: usize = 2;
const TEMPLATE_NAMES: usize = 3;
/// Fewer than names, so that a claim finds the template full at times.
const TEMPLATE_MAX: usize = 2;
const MAX_LEASE_SECONDS: i64 = 12;
/// The environment for hand-over requests. No other client claims it.
pub(crate) const HANDOVER: &str = "handover";
/// The environment with a long queue. No other client claims it.
pub(crate) const CROWDED: &str = "crowded";
/// How many agents fill the queue of the crowded environment, in the first organization.
const CROWD_SIZE: usize = 5;

#[derive(Debug, Default)]
pub(crate) struct LockFixture {
    pub(crate) organizations: Vec<Organization>,
    pub(crate) environments: Vec<FixtureEnvironment>,
    pub(crate) people: Vec<Person>,
    /// The hand-over clients of each organization: the holder, a requester who could force, and one who could
    /// not.
    pub(crate) handovers: Vec<[Person; 3]>,
    pub(crate) crowd: Vec<Person>,
    /// Users who may end others' sessions: maintainers whose token may force.
    pub(crate) maintainers: HashSet<Uuid>,
    /// Users whose token may take over by force.
    pub(crate) forcers: HashSet<Uuid>,
}

#[derive(Debug)]
pub(crate) struct Organization {
    pub(crate) id: Uuid,
    pub(crate) slug: String,
    /// Below `/api/v1`, up to the environment's name.
    pub(crate) path: String,
    pub(crate) owner: Uuid,
    pub(crate) owner_token: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FixtureEnvironment {
    pub(crate) organization: usize,
    pub(crate) name: String,
}

impl FixtureEnvironment {
    /// Returns whether the environment is reserved for one trial. Other clients do not use it.
    fn is_reserved(&self) -> bool {
        [HANDOVER, CROWDED].contains(&self.name.as_str())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) organization: usize,
    pub(crate) user: Uuid,
    pub(crate) email: String,
    pub(crate) role: &'static str,
    pub(crate) kind: &'static str,
    /// Its role and its membership are taken away and restored during the campaign.
    pub(crate) loses_rights_at_times: bool,
    /// Shared by all copies of a person; replaced when the member was removed and added again.
    token: Arc<Mutex<String>>,
}

impl Person {
    pub(crate) fn token(&self) -> String {
        self.token.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_token(&self, token: String) {
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = token;
    }

    /// An agent's token may not take over by force.
    pub(crate) fn may_force(&self) -> bool {
        self.kind == "user"
    }

    /// The arguments of the operator's command that creates a token.
    pub(crate) fn token_arguments<'a>(&'a self, slug: &'a str) -> [&'a str; 10] {
        let (email, kind) = (self.email.as_str(), self.kind);
        ["admin", "create-token", "--organization", slug, "--email", email, "--name", "fault", "--kind", kind]
    }
}

impl LockFixture {
    pub(crate) async fn make(stack: &Stack, options: &Locks) -> anyhow::Result<Self> {
        let mut fixture = Self::default();
        let named = usize::try_from(options.environments)?.div_ceil(ORGANIZATIONS);
        let people = usize::try_from(options.clients)?.div_ceil(ORGANIZATIONS);
        for index in 0..ORGANIZATIONS {
            let names: Vec<String> = (1..=named).map(|number| format!("qa-{number}")).collect();
            fixture.add_organization(stack, format!("fault-{index}"), &definition(&names)).await?;
            let templated = (1..=TEMPLATE_NAMES).map(|number| format!("pr-{number}"));
            let reserved = [HANDOVER, CROWDED].map(str::to_owned);
            let names = names.into_iter().chain(templated).chain(reserved);
            fixture.environments.extend(names.map(|name| FixtureEnvironment { organization: index, name }));
            for number in 0..people {
                let person = fixture.add_member(stack, NewMember::client(index, number)).await?;
                fixture.people.push(person);
            }
            let [holder, with_force, without_force] =
                [("holder", "user"), ("with-force", "user"), ("without-force", "agent")]
                    .map(|(name, kind)| NewMember::developer(index, name, kind));
            let trio = [
                fixture.add_member(stack, holder).await?,
                fixture.add_member(stack, with_force).await?,
                fixture.add_member(stack, without_force).await?,
            ];
            fixture.handovers.push(trio);
        }
        for number in 0..CROWD_SIZE {
            let new_member = NewMember::developer(0, &format!("crowd-{number}"), "agent");
            let person = fixture.add_member(stack, new_member).await?;
            fixture.crowd.push(person);
        }
        Ok(fixture)
    }

    /// Adds an organization with a pipeline.
    pub(crate) async fn add_organization(
        &mut self,
        stack: &Stack,
        slug: String,
        definition: &str,
    ) -> anyhow::Result<()> {
        let email = format!("owner@{slug}.test");
        let owner = ["--owner-email", &email, "--owner-name", "Owner"];
        let made = stack.admin_json(&[&["admin", "bootstrap", "--slug", &slug], &owner[..]].concat()).await?;
        let (id, owner_token) = (id_field(&made, "organizationId")?, text_field(&made, "token")?);
        let owner = id_field(&made, "userId")?;
        let base = format!("{}/organizations/{slug}", stack.servers[0].base_url());
        let body = json!({ "name": "Shop", "definition": definition });
        let pipeline = post(stack, &format!("{base}/pipelines"), &owner_token, &body).await?;
        let path = format!(
            "/organizations/{slug}/pipelines/{}/ephemeral-environments",
            text_field(&pipeline["data"], "id")?
        );
        self.organizations.push(Organization { id, slug, path, owner, owner_token });
        Ok(())
    }

    pub(crate) async fn add_member(
        &mut self,
        stack: &Stack,
        new_member: NewMember,
    ) -> anyhow::Result<Person> {
        let NewMember { organization, name, role, kind, loses_rights_at_times } = new_member;
        let of = &self.organizations[organization];
        let email = format!("{name}@{}.test", of.slug);
        let body = json!({ "email": email, "name": name, "role": role });
        let url = format!("{}/organizations/{}/members", stack.servers[0].base_url(), of.slug);
        let added = post(stack, &url, &of.owner_token, &body).await?;
        let user = id_field(&added["data"], "userId")?;
        let person =
            Person { organization, user, email, role, kind, loses_rights_at_times, token: Arc::default() };
        person.set_token(text_field(&stack.admin_json(&person.token_arguments(&of.slug)).await?, "token")?);
        if person.may_force() {
            self.forcers.insert(user);
        }
        if person.may_force() && role == "maintainer" {
            self.maintainers.insert(user);
        }
        Ok(person)
    }

    /// Returns the environments of one organization that clients claim.
    pub(crate) fn claimable_environments(&self, organization: usize) -> Vec<Environment> {
        let own = |environment: &(usize, &FixtureEnvironment)| {
            environment.1.organization == organization && !environment.1.is_reserved()
        };
        self.environments.iter().enumerate().filter(own).map(|(index, _)| index).collect()
    }

    pub(crate) fn find(&self, organization: usize, name: &str) -> Option<Environment> {
        self.environments
            .iter()
            .position(|environment| environment.organization == organization && environment.name == name)
    }
}

/// A member to add.
pub(crate) struct NewMember {
    organization: usize,
    name: String,
    role: &'static str,
    kind: &'static str,
    loses_rights_at_times: bool,
}

impl NewMember {
    /// Two maintainers in each organization, one of them an agent who may not force; some agents, and
    /// developers.
    fn client(organization: usize, number: usize) -> Self {
        let role = if number < 2 { "maintainer" } else { "developer" };
        let kind = if number == 1 || number % 5 == 4 { "agent" } else { "user" };
        let loses_rights_at_times = number % 4 == 2;
        Self { organization, name: format!("person-{number}"), role, kind, loses_rights_at_times }
    }

    pub(crate) fn developer(organization: usize, name: &str, kind: &'static str) -> Self {
        Self { organization, name: name.to_owned(), role: "developer", kind, loses_rights_at_times: false }
    }
}

fn definition(names: &[String]) -> String {
    // Places of people end as soon as those of programs, so that the queues are empty at the end.
    let lease = format!("lease: {{ default: 2s, max: {MAX_LEASE_SECONDS}s }}, queue: {{ maxStay: 2m }}");
    let named: String = names.iter().map(|name| format!("  {name}: {{ {lease} }}\n")).collect();
    let reserved: String = [HANDOVER, CROWDED]
        .iter()
        .map(|name| {
            format!("  {name}: {{ lease: {{ default: 15s, max: 10m }}, queue: {{ maxStay: 2m }} }}\n")
        })
        .collect();
    format!(
        "ephemeralEnvironments:\n{named}  \"pr-*\": {{ max: {TEMPLATE_MAX}, {lease} }}\n{reserved}stages:\n  build:\n    steps:\n      \
         - image: busybox\n        run: 'true'\n"
    )
}

async fn post(stack: &Stack, url: &str, token: &str, body: &Value) -> anyhow::Result<Value> {
    let response = stack.http.post(url).bearer_auth(token).json(body).send().await?;
    let (status, text) = (response.status(), response.text().await?);
    if !status.is_success() {
        bail!("POST {url}: {status} {text}");
    }
    Ok(serde_json::from_str(&text)?)
}

fn text_field(from: &Value, key: &str) -> anyhow::Result<String> {
    from[key].as_str().map(str::to_owned).with_context(|| format!("no `{key}` in {from}"))
}

fn id_field(from: &Value, key: &str) -> anyhow::Result<Uuid> {
    parse_id(&text_field(from, key)?).with_context(|| format!("`{key}` is no id"))
}

/// Returns the UUID behind the prefix.
pub(crate) fn parse_id(text: &str) -> Option<Uuid> {
    text.split_once('_')?.1.parse().ok()
}
