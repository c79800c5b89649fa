//! Runs the steps of one scenario in order. Afterwards no process of the scenario may be left.

use anyhow::{Context, bail};
use reqwest::Method;

use crate::parts::runner::Runner;
use crate::scenarios::fixture::ScenarioFixture;
use crate::scenarios::parts::Parts;
use crate::scenarios::scenario::Scenario;
use crate::scenarios::step::{Down, ParsedStep, Step, Touch, TouchPlace};

/// If a runner was killed, the entrypoint of its step detects this after 20 s and ends the step.
const CLEANUP_TIMEOUT_SECONDS: u64 = 30;

pub(crate) async fn play(parts: &Parts, scenario: &Scenario, round: u32) -> anyhow::Result<()> {
    let mut fixture = ScenarioFixture::make(parts, scenario, round).await?;
    let mut result = Ok(());
    for (number, ParsedStep { step, text }) in scenario.script.steps.iter().enumerate() {
        result = Box::pin(fixture.step(step)).await.with_context(|| format!("step {} {text}", number + 1));
        if result.is_err() {
            break;
        }
    }
    let logs: Vec<String> = match &result {
        Ok(()) => Vec::new(),
        Err(_) => fixture.runners.values().map(Runner::last_log_lines).collect(),
    };
    let left = fixture.clean_up().await;
    match result {
        Err(error) => Err(anyhow::anyhow!("{error:#}\n{}", logs.join("\n"))),
        Ok(()) => left.context("afterwards"),
    }
}

impl ScenarioFixture<'_> {
    async fn step(&mut self, step: &Step) -> anyhow::Result<()> {
        match step {
            Step::Start(step) => self.start(step).await,
            Step::Claim(step) => self.claim(step).await,
            Step::Deploy(step) => self.deploy(step).await,
            Step::Heartbeat(step) => self.heartbeat(step).await,
            Step::Release(step) => self.release(step).await,
            Step::Cancel(step) => self.cancel(step).await,
            Step::CancelStage(step) => self.cancel_stage(step).await,
            Step::Retry(step) => self.retry(step).await,
            Step::Cleanup(step) => self.cleanup(step).await,
            Step::Force(step) => self.force(step).await,
            Step::Stop(step) => self.stop(step).await,
            Step::Resume(_) => self.resume().await,
            Step::Define(step) => self.define(step).await,
            Step::Member(step) => self.member(step).await,
            Step::Hold(step) => self.hold(step).await,
            Step::EndHold(step) => self.end_hold(step).await,
            Step::Freeze(step) => self.freeze(step).await,
            Step::UpdateFreeze(step) => self.update_freeze(step).await,
            Step::Group(step) => self.group(step).await,
            Step::ServiceAccount(step) => self.service_account(step).await,
            Step::Approve(step) => self.approve(step).await,
            Step::Reject(step) => self.reject(step).await,
            Step::Withdraw(step) => self.withdraw(step).await,
            Step::Override(step) => self.override_gates(step).await,
            Step::Tokens(step) => self.tokens(step).await,
            Step::Occupy(step) => self.occupy(step),
            Step::CreateRegistry(step) => self.create_registry(step).await,
            Step::CreatePipeline(step) => self.create_pipeline(&step.create_pipeline).await,
            Step::CreateSecret(step) => self.create_secret(step).await,
            Step::UpdateSecret(step) => self.update_secret(step).await,
            Step::SetSecret(step) => self.set_secret(step).await,
            Step::Nowhere(step) => self.nowhere(&step.nowhere).await,
            Step::Until(step) => self.until(step).await,
            Step::Expect(step) => self.expect(step).await,
            Step::Find(step) => self.find(step).await,
            Step::Log(step) => self.log(step).await,
            Step::Follow(step) => self.follow(step).await,
            Step::Events(step) => self.events(step).await,
            Step::Touch(step) => self.touch(step),
            Step::StartRunner(step) => {
                let settings = Step::StartRunner(step.clone()).runner().context("it is one")?;
                self.start_runner(&step.start_runner, &settings).await
            }
            Step::Kill(step) => self.runner(&step.kill)?.program()?.kill().await,
            Step::Pause(step) => self.runner(&step.pause)?.program()?.signal("STOP").await,
            Step::Continue(step) => self.runner(&step.runner)?.program()?.signal("CONT").await,
            Step::Terminate(step) => self.runner(&step.terminate)?.program()?.signal("TERM").await,
            Step::Ended(step) => self.ended(step).await,
            Step::Revoke(step) => self.revoke(&step.revoke).await,
            Step::Pool(step) => self.pool(step).await,
            Step::Down(step) => self.take_down(step).await,
            Step::Up(step) if step.without_key => self.parts.up_without_key(step.up).await,
            Step::Up(step) => self.parts.up(step.up).await,
            Step::NoSteps(step) => self.no_steps(step).await,
            Step::File(step) => self.file(step).await,
        }
    }

    fn touch(&self, step: &Touch) -> anyhow::Result<()> {
        match step.place {
            TouchPlace::Folder => self.stage_folder.touch(&step.touch),
            TouchPlace::Workspaces => {
                let workspaces: Vec<_> = self.runners.values().flat_map(Runner::workspaces).collect();
                if workspaces.is_empty() {
                    bail!("no job has a workspace");
                }
                workspaces.iter().try_for_each(|folder| Ok(std::fs::write(folder.join(&step.touch), "")?))
            }
        }
    }

    async fn take_down(&self, step: &Down) -> anyhow::Result<()> {
        if !self.scenario.script.alone {
            bail!("a scenario that takes parts down has to be `alone`");
        }
        self.parts.down(step.down, step.lose).await
    }

    /// Ends the runners and checks that no step outlives them. The pipeline is deleted too, so that none of
    /// its deployments waits.
    async fn clean_up(&mut self) -> anyhow::Result<()> {
        if self.scenario.script.alone {
            self.parts.all_up().await?;
        }
        for runner in self.runners.values_mut() {
            runner.end().await?;
        }
        let left = self.nothing_runs(CLEANUP_TIMEOUT_SECONDS).await;
        let path = self.pipeline_path("");
        let archived = self.parts.api.call(Method::DELETE, &path, self.people.owner(), None).await;
        left?;
        archived.map(drop)
    }
}
