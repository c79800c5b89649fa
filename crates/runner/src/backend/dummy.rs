//! Simulates steps, for tests and benchmarks of everything around them. It supports these commands in a
//! script:
//!
//! - `echo TEXT`: writes the text and a line feed;
//! - `log BYTES`: writes that many bytes, in lines;
//! - `sleep SECONDS`: waits, and can be stopped;
//! - `ignore-stop`: ignores `stop` from here on, so that only `kill` ends the step;
//! - `exit CODE`: ends the step.
//!
//! All other lines succeed immediately.

use std::time::Duration;

use bytes::Bytes;
use greenroom_api_types::runner::Job;
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Backend, Ended, Images, NotReady, Result, Running, StepFiles, StepPlan, StepValues};
use crate::credential::Credentials;

const EXIT_TERMINATED: i32 = 128 + 15;
const EXIT_KILLED: i32 = 128 + 9;
const PIPE_BYTES: usize = 64 * 1024;

#[derive(Clone, Debug, Default)]
pub struct Dummy;

impl Backend for Dummy {
    type Running = DummyStep;

    async fn sweep(&self) -> Result<()> {
        Ok(())
    }

    async fn ready(
        &self,
        _job: &Job,
        _slot: u32,
        _credentials: &impl Credentials,
    ) -> std::result::Result<Images, NotReady> {
        Ok(Images::new())
    }

    async fn prepare(&self, plan: &StepPlan) -> Result<DummyStep> {
        Ok(DummyStep {
            script: plan.run.clone(),
            stop: CancellationToken::new(),
            simulation: JoinSet::new(),
            ended: None,
        })
    }
}

pub struct DummyStep {
    script: String,
    stop: CancellationToken,
    simulation: JoinSet<i32>,
    ended: Option<i32>,
}

impl Running for DummyStep {
    type Output = DuplexStream;

    /// The values are not used: nothing that runs could read them.
    async fn start(&mut self, _values: &StepValues) -> Result<(DuplexStream, StepFiles)> {
        let (writer, reader) = tokio::io::duplex(PIPE_BYTES);
        self.simulation.spawn(simulate(self.script.clone(), writer, self.stop.clone()));
        Ok((reader, StepFiles::none()))
    }

    async fn wait(&mut self) -> Result<Ended> {
        if self.ended.is_none() {
            // The set is empty if the step was killed before it was started.
            let exit_code = self.simulation.join_next().await;
            self.ended = Some(exit_code.and_then(std::result::Result::ok).unwrap_or(EXIT_KILLED));
        }
        Ok(Ended { exit_code: self.ended.unwrap_or(EXIT_KILLED), remark: None })
    }

    async fn stop(&mut self) -> Result<()> {
        self.stop.cancel();
        Ok(())
    }

    async fn kill(&mut self) -> Result<()> {
        self.simulation.abort_all();
        self.wait().await.map(drop)
    }

    async fn remove(mut self) -> Result<()> {
        self.kill().await
    }
}

async fn simulate(script: String, mut output: DuplexStream, stop: CancellationToken) -> i32 {
    let mut can_be_stopped = true;
    for line in script.lines() {
        let (command, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let run_command = async {
            match command {
                "echo" => drop(output.write_all(format!("{rest}\n").as_bytes()).await),
                "log" => write_log(&mut output, rest.parse().unwrap_or(0)).await,
                "sleep" => {
                    let seconds = rest.parse().unwrap_or(0.0);
                    tokio::time::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default()).await;
                }
                _ => {}
            }
        };
        tokio::select! {
            () = stop.cancelled(), if can_be_stopped => return EXIT_TERMINATED,
            () = run_command => {}
        }
        match command {
            "exit" => return rest.parse().unwrap_or(0),
            "ignore-stop" => can_be_stopped = false,
            _ => {}
        }
    }
    0
}

/// Writes lines of 64 bytes. The last one may be cut.
async fn write_log(output: &mut DuplexStream, mut bytes: usize) {
    let block = Bytes::from("the dummy backend repeats this line until it has written enough\n".repeat(256));
    while bytes > 0 {
        let piece = block.slice(..bytes.min(block.len()));
        if output.write_all(&piece).await.is_err() {
            return;
        }
        bytes -= piece.len();
    }
}
