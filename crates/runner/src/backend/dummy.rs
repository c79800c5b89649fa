//! Runs nothing. For tests and benchmarks of everything around a step. A script's lines may say:
//!
//! - `echo TEXT`: writes the text and a line feed;
//! - `log BYTES`: writes that many bytes, in lines;
//! - `sleep SECONDS`: waits, and can be stopped;
//! - `ignore-stop`: from here on only a kill ends it;
//! - `exit CODE`: ends.
//!
//! Anything else succeeds at once.

use std::time::Duration;

use bytes::Bytes;
use greenroom_api_types::runner::Job;
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Backend, Ended, Images, NotReady, Result, Running, StepPlan};

const TERMINATED: i32 = 128 + 15;
const KILLED: i32 = 128 + 9;
const PIPE: usize = 64 * 1024;

#[derive(Clone, Debug, Default)]
pub struct Dummy;

impl Backend for Dummy {
    type Running = Pretense;

    async fn sweep(&self) -> Result<()> {
        Ok(())
    }

    async fn ready(&self, _job: &Job, _slot: u32) -> std::result::Result<Images, NotReady> {
        Ok(Images::new())
    }

    async fn prepare(&self, plan: &StepPlan) -> Result<Pretense> {
        Ok(Pretense {
            script: plan.run.clone(),
            asked: CancellationToken::new(),
            play: JoinSet::new(),
            ended: None,
        })
    }
}

pub struct Pretense {
    script: String,
    asked: CancellationToken,
    play: JoinSet<i32>,
    ended: Option<i32>,
}

impl Running for Pretense {
    type Output = DuplexStream;

    async fn start(&mut self) -> Result<DuplexStream> {
        let (writer, reader) = tokio::io::duplex(PIPE);
        self.play.spawn(play(self.script.clone(), writer, self.asked.clone()));
        Ok(reader)
    }

    async fn wait(&mut self) -> Result<Ended> {
        if self.ended.is_none() {
            // Empty when it was killed before it started.
            let played = self.play.join_next().await;
            self.ended = Some(played.and_then(std::result::Result::ok).unwrap_or(KILLED));
        }
        Ok(Ended { exit_code: self.ended.unwrap_or(KILLED), remark: None })
    }

    async fn stop(&mut self) -> Result<()> {
        self.asked.cancel();
        Ok(())
    }

    async fn kill(&mut self) -> Result<()> {
        self.play.abort_all();
        self.wait().await.map(drop)
    }

    async fn remove(mut self) -> Result<()> {
        self.kill().await
    }
}

async fn play(script: String, mut output: DuplexStream, asked: CancellationToken) -> i32 {
    let mut heeds_stop = true;
    for line in script.lines() {
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let deed = async {
            match word {
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
            () = asked.cancelled(), if heeds_stop => return TERMINATED,
            () = deed => {}
        }
        match word {
            "exit" => return rest.parse().unwrap_or(0),
            "ignore-stop" => heeds_stop = false,
            _ => {}
        }
    }
    0
}

/// Lines of 64 bytes, the last one cut.
async fn write_log(output: &mut DuplexStream, mut bytes: usize) {
    let block = Bytes::from("the dummy writes what it was told to write, and it is all this.\n".repeat(256));
    while bytes > 0 {
        let piece = block.slice(..bytes.min(block.len()));
        if output.write_all(&piece).await.is_err() {
            return;
        }
        bytes -= piece.len();
    }
}
