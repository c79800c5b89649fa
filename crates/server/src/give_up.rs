//! `greenroomd admin give-up`: an operator ends a job, frees a work slot or gives up a teardown, directly in
//! the database.

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use greenroom_app::command::OperatorCommand;
use greenroom_domain::id::DeploymentId;
use greenroom_domain::slug::Slug;
use greenroom_domain::text::Reason;
use greenroom_store::Store;
use greenroom_store::deployment::ActionOutcome;
use greenroom_store::lock::LockedEnvironment;
use greenroom_store::pipeline::PipelineName;
use greenroom_store::transaction::OrgTransaction;
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
    /// End the deployment that occupies an environment's work slot, without its runner, and pass the slot on.
    Slot {
        #[command(flatten)]
        common: Common,
        #[command(flatten)]
        environment: EnvironmentName,
    },
    /// End an environment's teardown without its runner, and mark the environment as clean.
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
    /// The reason, for the event.
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

/// Gives up in one transaction. The daemons' relays wake up the workflows afterwards.
pub async fn give_up(store: &Store, arguments: &GiveUpCommand) -> anyhow::Result<Value> {
    let common = arguments.common();
    let slug: Slug = common.organization.parse().context("--organization")?;
    let reason = Reason::new(&common.reason).context("--reason")?;
    let Some(mut command) = OperatorCommand::open(store, &slug).await? else {
        bail!("there is no organization `{slug}`");
    };
    let given_up = match arguments {
        GiveUpCommand::Job { deployment, stage, .. } => {
            let id: DeploymentId = deployment.parse().context("--deployment")?;
            check_done(command.give_up_stage(id, stage, reason.as_str()).await?)?;
            json!({ "deploymentId": id, "stage": stage })
        }
        GiveUpCommand::Slot { environment, .. } => {
            let locked = lock(&mut command, environment).await?;
            let Some(occupant) = command.environment_work(locked.id).await?.in_slot else {
                bail!("the work slot of `{}` is free", locked.name);
            };
            if !matches!(command.give_up_deployment(occupant, reason.as_str()).await?, ActionOutcome::Done) {
                command.release_slot_of(&locked, occupant).await?;
            }
            json!({ "deploymentId": occupant })
        }
        GiveUpCommand::Teardown { environment, .. } => {
            let locked = lock(&mut command, environment).await?;
            let teardown = command.environment_work(locked.id).await?.teardown;
            if let Some(teardown) = teardown {
                check_done(command.give_up_deployment(teardown, reason.as_str()).await?)?;
            }
            if !command.give_up_cleanup(&locked, reason.as_str()).await? {
                bail!("`{}` has no teardown that runs or has failed", locked.name);
            }
            json!({ "deploymentId": teardown, "envName": locked.name })
        }
    };
    command.commit().await?;
    Ok(json!({ "givenUp": given_up }))
}

async fn lock(transaction: &mut OrgTransaction, name: &EnvironmentName) -> anyhow::Result<LockedEnvironment> {
    let pipeline = PipelineName::parse(&name.pipeline).context("--pipeline is neither an id nor a slug")?;
    let Some(pipeline) = transaction.pipeline_id(&pipeline).await? else {
        bail!("there is no pipeline `{}`", name.pipeline);
    };
    let locked = transaction.lock_environment(pipeline, &name.environment).await?;
    locked.with_context(|| format!("there is no environment `{}`", name.environment))
}

fn check_done(outcome: ActionOutcome) -> anyhow::Result<()> {
    match outcome {
        ActionOutcome::Done => Ok(()),
        ActionOutcome::Unchanged => bail!("it has ended already"),
        _ => bail!("there is no such deployment or stage"),
    }
}
