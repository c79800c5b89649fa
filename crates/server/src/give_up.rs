//! `greenroomd admin give-up`: an operator ends a job, frees a work slot or gives a teardown up, with the database at hand.

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use greenroom_domain::id::DeploymentId;
use greenroom_domain::slug::Slug;
use greenroom_domain::text::Reason;
use greenroom_store::Store;
use greenroom_store::change::Change;
use greenroom_store::deployment::Asked;
use greenroom_store::lock::LockedEnvironment;
use greenroom_store::pipeline::PipelineName;
use serde_json::{Value, json};

#[derive(Debug, Subcommand)]
pub enum GiveUpCommand {
    /// End the job of a stage without its runner.
    Job {
        #[command(flatten)]
        common: Common,
        /// The deployment's id.
        #[arg(long)]
        deployment: String,
        /// The stage's key.
        #[arg(long)]
        stage: String,
    },
    /// End whatever has an environment's work slot, without its runner, and pass the slot on.
    Slot {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        environment: EnvironmentName,
    },
    /// End an environment's teardown without its runner, and take the environment for clean.
    Teardown {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        environment: EnvironmentName,
    },
}

#[derive(Debug, Args)]
pub struct Common {
    /// The organization's slug.
    #[arg(long)]
    pub organization: String,
    /// Why, for those who read the event later.
    #[arg(long)]
    pub reason: String,
}

#[derive(Debug, Args)]
pub struct EnvironmentName {
    /// The pipeline's id or slug.
    #[arg(long)]
    pub pipeline: String,
    /// The environment's name.
    #[arg(long)]
    pub environment: String,
}

impl GiveUpCommand {
    const fn common(&self) -> &Common {
        match self {
            Self::Job { common, .. } | Self::Slot { common, .. } | Self::Teardown { common, .. } => common,
        }
    }
}

/// One transaction: all of it or nothing. The daemons' relays wake the workflows afterwards.
pub async fn give_up(store: &Store, command: &GiveUpCommand) -> anyhow::Result<Value> {
    let common = command.common();
    let slug: Slug = common.organization.parse().context("--organization")?;
    let why = Reason::new(&common.reason).context("--reason")?;
    let Some(mut change) = store.change_by_operator(&slug).await? else {
        bail!("there is no organization `{slug}`");
    };
    let given_up = match command {
        GiveUpCommand::Job { deployment, stage, .. } => {
            let id: DeploymentId = deployment.parse().context("--deployment")?;
            ended(change.give_up_stage(id, stage, why.as_str()).await?)?;
            json!({ "deploymentId": id, "stage": stage })
        }
        GiveUpCommand::Slot { environment, .. } => {
            let locked = lock(&mut change, environment).await?;
            let (Some(occupant), _) = change.work_of(locked.id).await? else {
                bail!("the work slot of `{}` is free", locked.name);
            };
            if !matches!(change.give_up_deployment(occupant, why.as_str()).await?, Asked::Done) {
                change.pass_on_slot_of(&locked, occupant).await?;
            }
            json!({ "deploymentId": occupant })
        }
        GiveUpCommand::Teardown { environment, .. } => {
            let locked = lock(&mut change, environment).await?;
            let (_, teardown) = change.work_of(locked.id).await?;
            if let Some(teardown) = teardown {
                ended(change.give_up_deployment(teardown, why.as_str()).await?)?;
            }
            if !change.give_up_cleanup(&locked, why.as_str()).await? {
                bail!("`{}` has no teardown that runs or has failed", locked.name);
            }
            json!({ "deploymentId": teardown, "envName": locked.name })
        }
    };
    change.commit().await?;
    Ok(json!({ "givenUp": given_up }))
}

async fn lock(change: &mut Change, name: &EnvironmentName) -> anyhow::Result<LockedEnvironment> {
    let pipeline = PipelineName::parse(&name.pipeline).context("--pipeline is neither an id nor a slug")?;
    let Some(pipeline) = change.pipeline_id(&pipeline).await? else {
        bail!("there is no pipeline `{}`", name.pipeline);
    };
    let locked = change.lock_environment(pipeline, &name.environment).await?;
    locked.with_context(|| format!("there is no environment `{}`", name.environment))
}

fn ended(asked: Asked) -> anyhow::Result<()> {
    match asked {
        Asked::Done => Ok(()),
        Asked::Nothing => bail!("it has ended already"),
        _ => bail!("there is no such deployment or stage"),
    }
}
