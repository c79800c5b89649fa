//! What a runner asks of the server: a job, and everything about one.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use greenroom_api_types::runner::{
    Acquire, CONCURRENCY_HEADER, CheckedOut, Complete, Heartbeat, JOB_TOKEN_HEADER, Job, LogSize, StepEnd,
    StepStart,
};
use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Method, RequestBuilder, Response};

use crate::connection::{Connection, SHORT_LIMIT, read, read_if_any, send};
use crate::transfer::{self, SHA256_HEADER, Upload};
use crate::{Error, Result};

/// How long a request for a job may take beyond the time that it waits for one.
const ACQUIRE_MARGIN: Duration = Duration::from_secs(15);
/// Up to a mebibyte of log over a slow line.
const LOG_LIMIT: Duration = Duration::from_secs(60);
/// What the server waits if it is not told.
const DEFAULT_WAIT_SECONDS: u32 = 30;

#[derive(Clone, Debug)]
pub struct RunnerClient {
    connection: Connection,
    concurrency: Option<u32>,
}

impl RunnerClient {
    pub fn new(connection: Connection) -> Self {
        RunnerClient { connection, concurrency: None }
    }

    /// States how many jobs this runner runs at once: the server bounds the requests for a job by it.
    #[must_use]
    pub fn with_concurrency(self, jobs: u32) -> Self {
        RunnerClient { concurrency: Some(jobs), ..self }
    }

    /// Waits for a job; none if none came.
    pub async fn acquire(&self, ask: &Acquire) -> Result<Option<Job>> {
        let wait = Duration::from_secs(ask.wait_seconds.unwrap_or(DEFAULT_WAIT_SECONDS).into());
        let path = ["runner", "jobs", "acquire"];
        let mut request = self.connection.request(Method::POST, &path, wait + ACQUIRE_MARGIN).json(ask);
        if let Some(jobs) = self.concurrency {
            request = request.header(CONCURRENCY_HEADER, jobs);
        }
        read_if_any(send(request).await?).await
    }

    /// The calls about a job, with its token.
    pub fn job(&self, job: &Job) -> Result<JobClient> {
        let mut token = HeaderValue::from_str(&job.job_token)
            .map_err(|_| Error::Local("the job's token has letters that no token has".to_owned()))?;
        token.set_sensitive(true);
        Ok(JobClient { connection: self.connection.clone(), job_id: job.job_id.clone(), token })
    }
}

/// The calls about one job. Each may be made again after [`Error::Unavailable`]: the server does it once.
#[derive(Clone, Debug)]
pub struct JobClient {
    connection: Connection,
    job_id: String,
    token: HeaderValue,
}

/// What became of a piece of log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The log is this long now.
    Taken(u64),
    /// It does not fit on to what is there: go on from here.
    Expected(u64),
}

impl JobClient {
    /// `limit` is the caller's, because what an answer is still worth depends on the lease.
    pub async fn heartbeat(&self, limit: Duration) -> Result<Heartbeat> {
        read(self.send(self.request(Method::POST, &["heartbeat"], limit)).await?).await
    }

    /// Reports what was checked out.
    pub async fn checked_out(&self, done: &CheckedOut) -> Result<()> {
        self.send(self.request(Method::POST, &["checkout"], SHORT_LIMIT).json(done)).await.map(drop)
    }

    /// Only after this was answered may the step run.
    pub async fn start_step(&self, step_run_id: &str, start: &StepStart) -> Result<()> {
        let path = ["steps", step_run_id, "start"];
        self.send(self.request(Method::POST, &path, SHORT_LIMIT).json(start)).await.map(drop)
    }

    pub async fn end_step(&self, step_run_id: &str, end: &StepEnd) -> Result<()> {
        let path = ["steps", step_run_id, "end"];
        self.send(self.request(Method::POST, &path, SHORT_LIMIT).json(end)).await.map(drop)
    }

    /// Appends to a step's log what came at this time and belongs at this offset.
    pub async fn append_log(
        &self,
        step_run_id: &str,
        offset: u64,
        at: Timestamp,
        bytes: Bytes,
    ) -> Result<Appended> {
        let path = ["steps", step_run_id, "logs"];
        let request = self
            .request(Method::POST, &path, LOG_LIMIT)
            .query(&[("offset", offset.to_string()), ("at", format!("{at:.3}"))])
            .header(CONTENT_TYPE, "application/octet-stream")
            .body(bytes);
        match send(request).await {
            Ok(answer) => read::<LogSize>(answer).await.map(|size| Appended::Taken(size.bytes)),
            Err(Error::Refused { code, detail, extensions, .. }) if code == "log_offset" => {
                let expected = extensions.get("expected").and_then(serde_json::Value::as_u64);
                expected.map(Appended::Expected).ok_or_else(|| {
                    Error::unavailable(format!("{detail} (the answer does not say what is expected)"))
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Writes an artifact into a file; the SHA-256 of what was written, in hexadecimal digits.
    pub async fn get_artifact(&self, artifact_id: &str, into: &Path) -> Result<String> {
        self.download(&["artifacts", artifact_id], into).await
    }

    /// Gives the stage's artifact, a tar archive, to the server.
    pub async fn put_artifact(&self, file: &Path) -> Result<()> {
        self.upload(&["artifact"], file).await
    }

    /// None if there is no cache under this key.
    pub async fn get_cache(&self, key: &str, into: &Path) -> Result<Option<String>> {
        match self.download(&["caches", key], into).await {
            Ok(sha256) => Ok(Some(sha256)),
            Err(Error::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub async fn put_cache(&self, key: &str, file: &Path) -> Result<()> {
        self.upload(&["caches", key], file).await
    }

    pub async fn complete(&self, complete: &Complete) -> Result<()> {
        self.send(self.request(Method::POST, &["complete"], SHORT_LIMIT).json(complete)).await.map(drop)
    }

    async fn download(&self, path: &[&str], into: &Path) -> Result<String> {
        let answer = self.send(self.request(Method::GET, path, transfer::LIMIT)).await?;
        transfer::download(answer, into).await
    }

    async fn upload(&self, path: &[&str], file: &Path) -> Result<()> {
        let Upload { body, size, sha256 } = transfer::upload(file).await?;
        let request = self
            .request(Method::PUT, path, transfer::LIMIT)
            .header(CONTENT_TYPE, "application/x-tar")
            .header(reqwest::header::CONTENT_LENGTH, size)
            .header(SHA256_HEADER, sha256)
            .body(body);
        self.send(request).await.map(drop)
    }

    fn request(&self, method: Method, rest: &[&str], limit: Duration) -> RequestBuilder {
        let path = [&["runner", "jobs", self.job_id.as_str()], rest].concat();
        self.connection.request(method, &path, limit).header(JOB_TOKEN_HEADER, self.token.clone())
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response> {
        send(request).await
    }
}
