//! The fixture of one scenario: an organization, a pipeline, runners, a folder, and names for what it has
//! created.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, bail};
use reqwest::Method;
use serde_json::{Value, json};

use crate::parts::containers::Containers;
use crate::parts::held_connections::HeldConnections;
use crate::parts::runner::{Runner, RunnerLaunch};
use crate::scenarios::parts::Parts;
use crate::scenarios::people::People;
use crate::scenarios::private_git::PrivateGit;
use crate::scenarios::runner_settings::RunnerSettings;
use crate::scenarios::scenario::Scenario;
use crate::scenarios::script::RepositoryKind;
use crate::scenarios::stage_folder::StageFolder;

/// The pipeline's slug, in every organization.
pub(crate) const PIPELINE: &str = "scenario";

pub(crate) struct ScenarioFixture<'a> {
    pub(super) parts: &'a Parts,
    pub(super) scenario: &'a Scenario,
    pub(super) people: People,
    pub(super) stage_folder: StageFolder,
    pub(super) runners: BTreeMap<String, Runner>,
    pub(super) private_git: Option<PrivateGit>,
    /// The name of the image in the private registry.
    private_image: Option<String>,
    names: HashMap<String, Named>,
    /// The connections of an attacker, by what they occupy.
    pub(super) occupied: BTreeMap<&'static str, HeldConnections>,
}

/// Something that a scenario has given a name to.
#[derive(Clone, Debug)]
pub(crate) enum Named {
    Deployment(String),
    Session { environment: String, id: String },
    Secret(String),
    Pipeline(String),
    Freeze(String),
    Group(String),
    Registry(String),
}

impl Named {
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Deployment(id)
            | Self::Session { id, .. }
            | Self::Secret(id)
            | Self::Pipeline(id)
            | Self::Freeze(id)
            | Self::Group(id)
            | Self::Registry(id) => id,
        }
    }
}

impl<'a> ScenarioFixture<'a> {
    pub(super) async fn make(parts: &'a Parts, scenario: &'a Scenario, round: u32) -> anyhow::Result<Self> {
        let slug = format!("s-{}-{round}", scenario.name);
        let people = People::of(parts, &slug).await?;
        let stage_folder = StageFolder::make(parts.steps_folder(&slug))?;
        let kind = scenario.script.repository_kind();
        let private_git = match kind {
            Some(RepositoryKind::Private | RepositoryKind::Hostile) => {
                Some(PrivateGit::start(parts, &slug, stage_folder.path()).await?)
            }
            Some(RepositoryKind::Held) | None => None,
        };
        let private_image = match &parts.containers {
            Some(containers) if scenario.script.registry => {
                Some(parts.registry()?.push_image(containers, &slug).await?)
            }
            _ => None,
        };
        let (runners, names, occupied) = (BTreeMap::new(), HashMap::new(), BTreeMap::new());
        let mut fixture = Self {
            parts,
            scenario,
            people,
            stage_folder,
            runners,
            private_git,
            private_image,
            names,
            occupied,
        };
        let definition = fixture.definition("pipeline.yaml")?;
        let repository = match (kind, &fixture.private_git) {
            (Some(RepositoryKind::Hostile), Some(git)) => Some(git.hostile_url()?),
            (_, Some(git)) => Some(git.private_url()?),
            (Some(RepositoryKind::Held), None) => Some(parts.repository_url(Some(&slug))),
            _ => scenario.script.has_repository().then(|| parts.repository_url(None)),
        };
        let pipeline = json!({ "name": scenario.name, "slug": PIPELINE, "repository": repository, "definition": definition });
        let path = fixture.organization_path("/pipelines");
        parts.api.call_ok(Method::POST, &path, fixture.people.owner(), Some(&pipeline)).await?;
        if let Some(settings) = scenario.script.first_runner() {
            fixture.start_runner("runner", &settings).await?;
        }
        Ok(fixture)
    }

    /// Returns the definition with its placeholders, such as `@SCENARIO_DIR@`, filled in.
    pub(super) fn definition(&self, file: &str) -> anyhow::Result<String> {
        let text = self.scenario.definition(file)?;
        let folder = self.stage_folder.path().to_string_lossy();
        let text =
            text.replace("@SCENARIO_DIR@", &folder).replace("@BYTES@", &self.parts.log_bytes.to_string());
        let text = text.replace("@SERVER@", self.parts.api.address());
        let text = text.replace("@PRIVATE_IMAGE@", self.private_image.as_deref().unwrap_or_default());
        Ok(self.private_git.as_ref().map_or(text.clone(), |git| git.fill_definition(text)))
    }

    pub(super) fn private_git(&self) -> anyhow::Result<&PrivateGit> {
        self.private_git.as_ref().context("the scenario's repository is neither private nor hostile")
    }

    pub(super) async fn start_runner(&mut self, name: &str, settings: &RunnerSettings) -> anyhow::Result<()> {
        if !self.runners.contains_key(name) {
            let path = self.organization_path("/runners");
            let body = Runner::creation_body(name, settings.pool.as_deref());
            let made = self.parts.api.call_ok(Method::POST, &path, self.people.owner(), Some(&body)).await?;
            let folder = self.parts.folder.join("runners").join(format!("{}-{name}", self.people.slug));
            let mut runner = Runner::of(&made, name, folder)?;
            if let Some(git) = &self.private_git {
                runner.trust(git.certificate());
            }
            self.runners.insert(name.to_owned(), runner);
        }
        let parts = self.parts;
        let launch = RunnerLaunch {
            programs: &parts.programs,
            url: parts.api.base(),
            docker_host: parts.containers.as_ref().map(Containers::host),
            backend: settings.backend,
            concurrency: settings.concurrency,
            log_level: "info",
        };
        self.runner(name)?.start(&launch)
    }

    pub(super) fn runner(&mut self, name: &str) -> anyhow::Result<&mut Runner> {
        self.runners.get_mut(name).with_context(|| format!("no runner is called `{name}`"))
    }

    pub(super) fn organization_path(&self, path: &str) -> String {
        format!("/organizations/{}{path}", self.people.slug)
    }

    pub(super) fn pipeline_path(&self, path: &str) -> String {
        self.organization_path(&format!("/pipelines/{PIPELINE}{path}"))
    }

    pub(super) fn environment_path(&self, environment: &str, path: &str) -> String {
        self.pipeline_path(&format!("/ephemeral-environments/{environment}{path}"))
    }

    pub(super) fn lasting_environment_path(&self, environment: &str, path: &str) -> String {
        self.pipeline_path(&format!("/environments/{environment}{path}"))
    }

    pub(super) fn freeze_path(&self, name: &str) -> anyhow::Result<String> {
        match self.named(name)? {
            Named::Freeze(id) => Ok(self.organization_path(&format!("/freezes/{id}"))),
            _ => bail!("`{name}` is not a freeze, and one is wanted"),
        }
    }

    pub(super) fn named(&self, name: &str) -> anyhow::Result<&Named> {
        self.names.get(name).with_context(|| format!("nothing is called `{name}` yet"))
    }

    pub(super) fn deployment(&self, name: &str) -> anyhow::Result<String> {
        match self.named(name)? {
            Named::Deployment(id) => Ok(id.clone()),
            _ => bail!("`{name}` is not a deployment, and one is wanted"),
        }
    }

    pub(super) fn deployment_path(&self, name: &str, path: &str) -> anyhow::Result<String> {
        Ok(self.organization_path(&format!("/deployments/{}{path}", self.deployment(name)?)))
    }

    pub(super) fn session_path(&self, name: &str, path: &str) -> anyhow::Result<String> {
        match self.named(name)? {
            Named::Session { environment, id } => {
                Ok(self.environment_path(environment, &format!("/sessions/{id}{path}")))
            }
            _ => bail!("`{name}` is not a session, and one is wanted"),
        }
    }

    pub(super) fn secret_path(&self, name: &str, path: &str) -> anyhow::Result<String> {
        match self.named(name)? {
            Named::Secret(id) => Ok(self.organization_path(&format!("/secrets/{id}{path}"))),
            _ => bail!("`{name}` is not a secret, and one is wanted"),
        }
    }

    pub(super) fn name_deployment(&mut self, name: &str, record: &Value) -> anyhow::Result<()> {
        let id = record["id"].as_str().with_context(|| format!("a deployment without an id: {record:#}"))?;
        self.name(name, Named::Deployment(id.to_owned()))
    }

    pub(super) fn name_session(
        &mut self,
        name: &str,
        environment: &str,
        record: &Value,
    ) -> anyhow::Result<()> {
        let id =
            record["sessionId"].as_str().with_context(|| format!("a session without an id: {record:#}"))?;
        self.name(name, Named::Session { environment: environment.to_owned(), id: id.to_owned() })
    }

    pub(super) fn name(&mut self, name: &str, what: Named) -> anyhow::Result<()> {
        match self.names.insert(name.to_owned(), what) {
            None => Ok(()),
            Some(_) => bail!("`{name}` is the name of something else already"),
        }
    }
}
