//! The people and programs of the campaign: voters in two groups, those who start and retry deployments, and a service
//! account.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::definition::{DefinitionSettings, GROUPS, MACHINE, TRIAL, slug};
use crate::fault::deployments::organization::{Organization, Person, text_field};
use crate::fault::deployments::stack::Stack;
use crate::parts::api::Api;

/// Numbers of people begin here; lower ones belong to the other part of the campaign.
const FIRST_NUMBER: usize = 1_000;
/// How many tokens are created concurrently.
const CONCURRENT_TOKENS: usize = 8;
/// One in this many voters has a second token.
const VOTERS_PER_SECOND_TOKEN: usize = 4;

/// A person who may vote.
#[derive(Clone, Debug)]
pub(crate) struct Voter {
    pub(crate) person: Person,
    /// Whether the voter is in each of [`GROUPS`].
    pub(crate) groups: [bool; 2],
    pub(crate) second_token: Option<String>,
}

/// A person who starts and retries deployments, and attempts to approve them. Both rules name the person.
#[derive(Clone, Debug)]
pub(crate) struct Starter {
    pub(crate) person: Person,
    pub(crate) second_token: String,
    pub(crate) ci_token: String,
    pub(crate) agent_token: String,
}

#[derive(Debug)]
pub(crate) struct ApprovalFixture {
    pub(crate) voters: Vec<Voter>,
    pub(crate) starters: Vec<Starter>,
    /// A maintainer who repeats builds.
    pub(crate) maintainer: Person,
    /// A developer whom no rule names.
    pub(crate) outsider: Person,
    /// The token of a service account.
    pub(crate) service_token: String,
    pub(crate) definitions: DefinitionSettings,
    /// How many pipelines have all kinds of gates.
    pub(crate) pipelines: usize,
}

impl ApprovalFixture {
    pub(crate) async fn make(
        stack: &Stack,
        organization: &Organization,
        definitions: DefinitionSettings,
        (pipelines, voters): (usize, usize),
    ) -> anyhow::Result<Self> {
        let maker = Maker { stack, organization, api: Api::new(stack.servers[0].base_url())? };
        let mut group_ids = Vec::new();
        for name in GROUPS {
            group_ids.push(text_field(&maker.post("/groups", &json!({ "name": name })).await?, "id")?);
        }
        // One more than there are deployments, because another person retries each of them.
        let starter_count = pipelines + 2;
        let people = maker.people(starter_count + voters).await?;
        let (starters, voters) = people.split_at(starter_count);
        let mut made_voters = Vec::new();
        for (number, person) in voters.iter().enumerate() {
            let groups = voter_groups(number);
            maker.join(person, &group_ids, groups).await?;
            let has_second = number % VOTERS_PER_SECOND_TOKEN == 0;
            let second_token = if has_second { Some(maker.token(person, "user").await?) } else { None };
            made_voters.push(Voter { person: person.clone(), groups, second_token });
        }
        let mut made_starters = Vec::new();
        for person in starters {
            maker.join(person, &group_ids, [true; 2]).await?;
            made_starters.push(Starter {
                person: person.clone(),
                second_token: maker.token(person, "user").await?,
                ci_token: maker.token(person, "ci").await?,
                agent_token: maker.token(person, "agent").await?,
            });
        }
        let number = FIRST_NUMBER + people.len();
        let maintainer = organization.add_member(stack, &maker.api, (number, "maintainer")).await?;
        let outsider = organization.add_member(stack, &maker.api, (number + 1, "developer")).await?;
        let service_token = maker.service_account().await?;
        for number in 0..pipelines {
            maker.pipeline(&slug(number), &definitions.gated(&slug(number), true)).await?;
        }
        for slug in [MACHINE, TRIAL] {
            maker.pipeline(slug, &definitions.single(slug)).await?;
        }
        Ok(Self {
            voters: made_voters,
            starters: made_starters,
            maintainer,
            outsider,
            service_token,
            definitions,
            pipelines,
        })
    }
}

/// Voters are in the first group, in the second, or in both.
fn voter_groups(number: usize) -> [bool; 2] {
    [number % 3 != 1, !number.is_multiple_of(3)]
}

struct Maker<'a> {
    stack: &'a Stack,
    organization: &'a Organization,
    api: Api,
}

impl Maker<'_> {
    async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.organization.call(&self.api, Method::POST, path, body).await
    }

    /// Adds developers. A token is created by a program, some of which run concurrently.
    async fn people(&self, count: usize) -> anyhow::Result<Vec<Person>> {
        let mut people = Vec::new();
        let numbers: Vec<usize> = (FIRST_NUMBER..FIRST_NUMBER + count).collect();
        for numbers in numbers.chunks(CONCURRENT_TOKENS) {
            let mut users = Vec::new();
            for number in numbers {
                users.push(self.organization.invite(&self.api, (*number, "developer")).await?);
            }
            let mut tokens = JoinSet::new();
            for number in numbers.iter().copied() {
                let admin = self.stack.admin_client();
                tokens.spawn(
                    async move { anyhow::Ok((number, Organization::new_token(&admin, number).await?)) },
                );
            }
            let mut made = tokens.join_all().await.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
            made.sort_unstable();
            people.extend(users.into_iter().zip(made).map(|(user, (_, token))| Person { user, token }));
        }
        Ok(people)
    }

    async fn join(&self, person: &Person, group_ids: &[String], groups: [bool; 2]) -> anyhow::Result<()> {
        for (id, _) in group_ids.iter().zip(groups).filter(|(_, is_member)| *is_member) {
            let path = format!("/groups/{id}/members/usr_{}", person.user);
            let (path, token) = (Organization::path(&path), &self.organization.owner.token);
            self.api.call_ok(Method::PUT, &path, token, None).await?;
        }
        Ok(())
    }

    /// Creates another token of this kind for a person. Its scopes permit to vote.
    async fn token(&self, person: &Person, kind: &str) -> anyhow::Result<String> {
        let body = json!({ "name": kind, "kind": kind, "scopes": ["read", "write"] });
        let path = Organization::path("/api-tokens");
        let made = self.api.call_ok(Method::POST, &path, &person.token, Some(&body)).await?;
        text_field(&made, "token")
    }

    /// Creates a service account and returns its token.
    async fn service_account(&self) -> anyhow::Result<String> {
        let account =
            self.post("/service-accounts", &json!({ "name": "robot", "role": "developer" })).await?;
        let id = text_field(&account, "id")?;
        let scopes = ["read", "hold", "deploy", "start", "write"];
        let body = json!({ "name": "robot", "scopes": scopes });
        let made = self.post(&format!("/service-accounts/{id}/api-tokens"), &body).await?;
        text_field(&made, "token")
    }

    async fn pipeline(&self, slug: &str, definition: &str) -> anyhow::Result<()> {
        let body = json!({ "name": slug, "slug": slug, "definition": definition });
        self.post("/pipelines", &body).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_voter_is_in_a_group_and_some_are_in_both() {
        let groups: Vec<[bool; 2]> = (0..6).map(voter_groups).collect();
        assert_eq!(groups[..3], [[true, false], [false, true], [true, true]]);
        assert_eq!(groups[..3], groups[3..]);
    }
}
