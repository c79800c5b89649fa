//! The made-up organizations, people and environments that the clients act in.

use std::collections::HashSet;

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
pub(crate) const LONGEST_LEASE_SECONDS: i64 = 12;

#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) organizations: Vec<Organization>,
    pub(crate) environments: Vec<Place>,
    pub(crate) people: Vec<Person>,
    /// Who may end others' sessions.
    pub(crate) maintainers: HashSet<Uuid>,
}

#[derive(Debug)]
pub(crate) struct Organization {
    pub(crate) id: Uuid,
    /// Below `/api/v1`, up to the environment's name.
    pub(crate) path: String,
    pub(crate) owner_token: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) organization: usize,
    pub(crate) name: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) organization: usize,
    pub(crate) user: Uuid,
    pub(crate) token: String,
    pub(crate) maintains: bool,
}

impl World {
    pub(crate) async fn make(stack: &Stack, options: &Locks) -> anyhow::Result<Self> {
        let mut world = Self::default();
        let named = usize::try_from(options.environments)?.div_ceil(ORGANIZATIONS);
        let people = usize::try_from(options.clients)?.div_ceil(ORGANIZATIONS);
        for index in 0..ORGANIZATIONS {
            let slug = format!("fault-{index}");
            let email = format!("owner@{slug}.test");
            let owner = ["--owner-email", &email, "--owner-name", "Owner"];
            let made =
                stack.admin_json(&[&["admin", "bootstrap", "--slug", &slug], &owner[..]].concat()).await?;
            let (id, owner_token) = (id_in(&made, "organizationId")?, word(&made, "token")?);
            let base = format!("{}/organizations/{slug}", stack.servers[0].base_url());
            let names: Vec<String> = (1..=named).map(|number| format!("qa-{number}")).collect();
            let body = json!({ "name": "Shop", "definition": definition(&names) });
            let pipeline = post(stack, &format!("{base}/pipelines"), &owner_token, &body).await?;
            let path = format!(
                "/organizations/{slug}/pipelines/{}/ephemeral-environments",
                word(&pipeline["data"], "id")?
            );
            world.organizations.push(Organization { id, path, owner_token: owner_token.clone() });
            let templated = (1..=TEMPLATE_NAMES).map(|number| format!("pr-{number}"));
            let places = names.into_iter().chain(templated).map(|name| Place { organization: index, name });
            world.environments.extend(places);
            for number in 0..people {
                let person = hire(stack, &base, (index, &slug), &owner_token, number).await?;
                if person.maintains {
                    world.maintainers.insert(person.user);
                }
                world.people.push(person);
            }
        }
        Ok(world)
    }

    /// The environments of one organization.
    pub(crate) fn places(&self, organization: usize) -> Vec<Environment> {
        let own = |place: &(usize, &Place)| place.1.organization == organization;
        self.environments.iter().enumerate().filter(own).map(|(index, _)| index).collect()
    }

    pub(crate) fn find(&self, organization: usize, name: &str) -> Option<Environment> {
        self.environments.iter().position(|place| place.organization == organization && place.name == name)
    }
}

/// One maintainer in each organization, some agents, and developers.
async fn hire(
    stack: &Stack,
    base: &str,
    (organization, slug): (usize, &str),
    owner_token: &str,
    number: usize,
) -> anyhow::Result<Person> {
    let maintains = number == 0;
    let role = if maintains { "maintainer" } else { "developer" };
    let email = format!("person-{number}@{slug}.test");
    let body = json!({ "email": email, "name": format!("Person {number}"), "role": role });
    let added = post(stack, &format!("{base}/members"), owner_token, &body).await?;
    // An agent's token may not take over by force unless that was asked for.
    let kind = if number % 5 == 4 { "agent" } else { "user" };
    let words = [
        "admin",
        "create-token",
        "--organization",
        slug,
        "--email",
        &email,
        "--name",
        "fault",
        "--kind",
        kind,
    ];
    let token = word(&stack.admin_json(&words).await?, "token")?;
    let user = id_in(&added["data"], "userId")?;
    Ok(Person { organization, user, token, maintains })
}

fn definition(names: &[String]) -> String {
    let lease = format!("lease: {{ default: 2s, max: {LONGEST_LEASE_SECONDS}s }}");
    let named: String = names.iter().map(|name| format!("  {name}: {{ {lease} }}\n")).collect();
    format!(
        "ephemeralEnvironments:\n{named}  \"pr-*\": {{ max: {TEMPLATE_MAX}, {lease} }}\nstages:\n  build:\n    steps:\n      \
         - image: busybox\n        run: 'true'\n"
    )
}

async fn post(stack: &Stack, url: &str, token: &str, body: &Value) -> anyhow::Result<Value> {
    let answer = stack.http.post(url).bearer_auth(token).json(body).send().await?;
    let (status, text) = (answer.status(), answer.text().await?);
    if !status.is_success() {
        bail!("POST {url}: {status} {text}");
    }
    Ok(serde_json::from_str(&text)?)
}

fn word(from: &Value, key: &str) -> anyhow::Result<String> {
    from[key].as_str().map(str::to_owned).with_context(|| format!("no `{key}` in {from}"))
}

fn id_in(from: &Value, key: &str) -> anyhow::Result<Uuid> {
    parse_id(&word(from, key)?).with_context(|| format!("`{key}` is no id"))
}

/// The UUID behind the prefix.
pub(crate) fn parse_id(text: &str) -> Option<Uuid> {
    text.split_once('_')?.1.parse().ok()
}
