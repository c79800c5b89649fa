//! All real parts: a pipeline whose step runs in a container, SeaweedFS as a relying party that trusts
//! its subject, and a second one that trusts the same issuer, as another audience, and a key that is not
//! Greenroom's.

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::{Value, json};

use crate::id_tokens::options::IdTokens;
use crate::id_tokens::other_key::{KEY_ID, OtherKey};
use crate::id_tokens::recorder::{KEY_SET_PATH, Recorder};
use crate::id_tokens::relying_party::{Provider, RelyingParty, Role};
use crate::id_tokens::step::{
    ANY_SUBJECT_ROLE, AUDIENCE, Addresses, CONTROL, ENVIRONMENT, OTHER_AUDIENCE, OTHER_SUBJECT_ROLE, ROLE,
    definition,
};
use crate::id_tokens::token::Token;
use crate::parts::containers::Containers;
use crate::parts::deadline::Deadline;
use crate::parts::output::print_progress;
use crate::parts::runner::{Backend, Runner, RunnerLaunch};
use crate::scenarios::Scenarios;
use crate::scenarios::parts::Parts;
use crate::scenarios::people::People;

const ORGANIZATION: &str = "identity";
const PIPELINE: &str = "shop";
const RUNNER: &str = "containers";
const GREENROOM: &str = "greenroom";
/// The provider of tokens that are signed with the other key, and its role.
const OTHER_ISSUER: &str = "other-issuer";
const LIFETIME_VARIABLE: &str = "GREENROOM_ID_TOKEN_SECONDS";
/// How long the deployment may take beside the step's own time.
const END_MARGIN_SECONDS: u64 = 300;
/// Longer than the run: what is tested is the key, and not the time.
const FORGED_LIFETIME_SECONDS: i64 = 3_600;

pub(super) struct IdTokenFixture {
    pub(super) parts: Parts,
    peers: Peers,
}

/// Everything around the stack.
struct Peers {
    owner: String,
    runner: Runner,
    other_key: OtherKey,
    recorder: Recorder,
    relying_party: RelyingParty,
    control: RelyingParty,
}

impl IdTokenFixture {
    pub(super) async fn start(options: &IdTokens) -> anyhow::Result<Self> {
        let (bin_dir, entry) = (options.bin_dir.clone(), options.entry.clone());
        let mut settings = Scenarios::alone(bin_dir, entry, options.keep, "info".to_owned());
        settings.server_variables = vec![(LIFETIME_VARIABLE, options.token_seconds.to_string())];
        let parts = Parts::start(&settings, true).await?;
        match prepare(&parts, options).await {
            Ok(peers) => Ok(Self { parts, peers }),
            Err(error) => {
                parts.end(options.keep).await?;
                Err(error)
            }
        }
    }

    pub(super) fn recorder(&self) -> &Recorder {
        &self.peers.recorder
    }

    /// Starts a deployment and waits until it has succeeded.
    pub(super) async fn deploy(&self, seconds: u64) -> anyhow::Result<()> {
        let (api, owner) = (&self.parts.api, &self.peers.owner);
        let deployments = path(&format!("/pipelines/{PIPELINE}/deployments"));
        let body = json!({ "commitId": "abcdef1234567" });
        let made = api.call_ok(Method::POST, &deployments, owner, Some(&body)).await?;
        let deployment = path(&format!("/deployments/{}", text_field(&made, "id")?));
        let deadline = Deadline::in_seconds(seconds + END_MARGIN_SECONDS);
        loop {
            let found = api.get(&deployment, owner).await?;
            match found["status"].as_str() {
                Some("succeeded") => return Ok(()),
                Some("failed" | "errored" | "canceled") => {
                    print_progress(&self.peers.runner.last_log_lines());
                    bail!("the deployment did not succeed: {found:#}")
                }
                _ => deadline.wait(|| format!("the deployment has not ended: {found:#}")).await?,
            }
        }
    }

    /// Sends the claims of a token, signed with the other key, to the relying party; and then to the control,
    /// which trusts that key as another issuer. Returns both statuses.
    pub(super) async fn forge(&self, token: &Token) -> anyhow::Result<(String, String)> {
        let peers = &self.peers;
        let mut claims = token.claims.clone();
        claims["exp"] = json!(token.expires_at + FORGED_LIFETIME_SECONDS);
        let forged = peers.other_key.sign(&token.key_id, &claims).await?;
        claims["iss"] = json!(peers.recorder.url);
        let trusted = peers.other_key.sign(KEY_ID, &claims).await?;
        let refused = peers.relying_party.exchange(ROLE, &forged).await?;
        Ok((refused, peers.control.exchange(OTHER_ISSUER, &trusted).await?))
    }

    pub(super) async fn end(self, keep: bool) -> anyhow::Result<()> {
        let Self { parts, mut peers } = self;
        peers.runner.end().await?;
        peers.relying_party.end().await?;
        peers.control.end().await?;
        parts.end(keep).await
    }
}

async fn prepare(parts: &Parts, options: &IdTokens) -> anyhow::Result<Peers> {
    let people = People::of(parts, ORGANIZATION).await?;
    let owner = people.owner().to_owned();
    let other_key = OtherKey::create(&parts.folder).await?;
    let recorder = Recorder::start(other_key.key_set()).await?;
    // The trust policy needs the pipeline's id, and the step the addresses of the relying parties.
    let unfinished = json!({ "stages": { "later": { "steps": [{ "image": "none", "run": "true" }] } } });
    let body = json!({ "name": "Shop", "slug": PIPELINE, "definition": unfinished.to_string() });
    let pipeline = parts.api.call_ok(Method::POST, &path("/pipelines"), &owner, Some(&body)).await?;
    let organization = text_field(&parts.api.get(&path(""), &owner).await?, "id")?;
    let pipeline = text_field(&pipeline, "id")?;
    let subject = format!("organization:{organization}:pipeline:{pipeline}:environment:{ENVIRONMENT}");
    print_progress("starting two relying parties");
    let (relying_party, control) = start_relying_parties(parts, &recorder, &subject).await?;
    let addresses = Addresses {
        relying_party: &relying_party.address,
        control: &control.address,
        recorder: &recorder.url,
    };
    let body = json!({ "definition": definition(options, &addresses) });
    let pipeline = path(&format!("/pipelines/{PIPELINE}"));
    parts.api.call_ok(Method::PUT, &pipeline, &owner, Some(&body)).await?;
    let runner = start_runner(parts, &owner).await?;
    Ok(Peers { owner, runner, other_key, recorder, relying_party, control })
}

async fn start_relying_parties(
    parts: &Parts,
    recorder: &Recorder,
    subject: &str,
) -> anyhow::Result<(RelyingParty, RelyingParty)> {
    let issuer = format!("http://{}", parts.api.address());
    let greenroom = |audience| Provider { name: GREENROOM, issuer: &issuer, audience, key_set: None };
    let role = |name, subject| Role { name, provider: GREENROOM, subject };
    let other_subject = subject.replace(ENVIRONMENT, "staging");
    let roles = [
        role(ROLE, Some(subject)),
        role(OTHER_SUBJECT_ROLE, Some(other_subject.as_str())),
        role(ANY_SUBJECT_ROLE, None),
    ];
    let other_issuer = Provider {
        name: OTHER_ISSUER,
        issuer: &recorder.url,
        audience: AUDIENCE,
        key_set: Some(format!("{}{KEY_SET_PATH}", recorder.url)),
    };
    let control_roles = [
        role(ROLE, Some(subject)),
        Role { name: OTHER_ISSUER, provider: OTHER_ISSUER, subject: Some(subject) },
    ];
    let folder = parts.folder.join("relying-party");
    let control_folder = parts.folder.join(format!("{CONTROL}relying-party"));
    let (providers, control_providers) = ([greenroom(AUDIENCE)], [greenroom(OTHER_AUDIENCE), other_issuer]);
    tokio::try_join!(
        RelyingParty::start(&folder, &providers, &roles),
        RelyingParty::start(&control_folder, &control_providers, &control_roles),
    )
}

/// Starts a runner whose steps reach this machine itself, on loopback.
async fn start_runner(parts: &Parts, owner: &str) -> anyhow::Result<Runner> {
    let body = Runner::creation_body(RUNNER, None);
    let made = parts.api.call_ok(Method::POST, &path("/runners"), owner, Some(&body)).await?;
    let pool = path("/runner-pools/default");
    let open = json!({ "network": "host" });
    parts.api.call_ok(Method::PATCH, &pool, owner, Some(&open)).await?;
    let mut runner = Runner::of(&made, RUNNER, parts.folder.join("runners").join(RUNNER))?;
    runner.start(&RunnerLaunch {
        programs: &parts.programs,
        url: parts.api.base(),
        docker_host: parts.containers.as_ref().map(Containers::host),
        backend: Backend::Container,
        concurrency: 1,
        log_level: "info",
    })?;
    Ok(runner)
}

fn path(below: &str) -> String {
    format!("/organizations/{ORGANIZATION}{below}")
}

fn text_field(from: &Value, key: &str) -> anyhow::Result<String> {
    from[key].as_str().map(str::to_owned).with_context(|| format!("no `{key}` in {from}"))
}
