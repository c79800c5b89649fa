//! The calls of a runner: acquiring a job, and everything about one job.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use greenroom_api_types::runner::{
    Acquire, CONCURRENCY_HEADER, CheckedOut, Complete, CredentialRequest, CredentialResponse,
    DRAINING_HEADER, Heartbeat, JOB_TOKEN_HEADER, Job, LogSize, MAX_STEP_ARCHIVE_BYTES, RefreshedIdTokens,
    StepEnd, StepStart, StepStarted,
};
use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Method, RequestBuilder, Response};

use crate::connection::{Connection, SHORT_TIMEOUT, read, read_optional, read_secret, send};
use crate::transfer::{self, SHA256_HEADER, Upload};
use crate::{Error, Result};

/// The timeout of a request for a job, in addition to the time that the server waits for one.
const ACQUIRE_MARGIN: Duration = Duration::from_secs(15);
/// The timeout for up to a mebibyte of log over a slow connection.
const LOG_TIMEOUT: Duration = Duration::from_secs(60);
/// The timeout for the archive of a step, [`MAX_STEP_ARCHIVE_BYTES`], over a slow connection.
const STEP_ARCHIVE_TIMEOUT: Duration = Duration::from_secs(2 * 60);
/// How long the server waits by default.
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

    /// Sets how many jobs this runner runs concurrently. The server limits the concurrent requests for a job
    /// by it.
    #[must_use]
    pub fn with_concurrency(self, jobs: u32) -> Self {
        RunnerClient { concurrency: Some(jobs), ..self }
    }

    /// Waits for a job. Returns `None` if none arrived in time.
    pub async fn acquire(&self, request_body: &Acquire) -> Result<Option<Job>> {
        let wait = Duration::from_secs(request_body.wait_seconds.unwrap_or(DEFAULT_WAIT_SECONDS).into());
        let path = ["runner", "jobs", "acquire"];
        let mut request =
            self.connection.request(Method::POST, &path, wait + ACQUIRE_MARGIN).json(request_body);
        if let Some(jobs) = self.concurrency {
            request = request.header(CONCURRENCY_HEADER, jobs);
        }
        read_optional(send(request).await?).await
    }

    /// Returns a client for the calls about a job, with its token.
    pub fn job(&self, job: &Job) -> Result<JobClient> {
        let mut token = HeaderValue::from_str(&job.job_token).map_err(|_| {
            Error::local_message("the job's token contains characters that are not allowed in a header")
        })?;
        token.set_sensitive(true);
        Ok(JobClient { connection: self.connection.clone(), job_id: job.job_id.clone(), token })
    }
}

/// The calls about one job. They are idempotent, so each may be retried after [`Error::Unavailable`].
#[derive(Clone, Debug)]
pub struct JobClient {
    connection: Connection,
    job_id: String,
    token: HeaderValue,
}

/// The result of appending to a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The new length of the log.
    Taken(u64),
    /// The offset is not the end of the log, which is this.
    Expected(u64),
}

impl JobClient {
    /// The caller sets `timeout`, because a response is only useful before the lease expires.
    pub async fn heartbeat(&self, timeout: Duration, is_draining: bool) -> Result<Heartbeat> {
        let mut request = self.request(Method::POST, &["heartbeat"], timeout);
        if is_draining {
            request = request.header(DRAINING_HEADER, "true");
        }
        read(self.send(request).await?).await
    }

    /// Returns the credential with which this runner fetches the repository or pulls images from a host.
    pub async fn credential(&self, request: &CredentialRequest) -> Result<CredentialResponse> {
        let path = ["credentials"];
        match self.send(self.request(Method::POST, &path, SHORT_TIMEOUT).json(request)).await {
            Ok(response) => read_secret(response).await,
            // A server without secrets has no such operation.
            Err(Error::Refused { status: 404, .. }) => Ok(CredentialResponse::default()),
            Err(error) => Err(error),
        }
    }

    /// Reports the commit that was checked out.
    pub async fn checked_out(&self, done: &CheckedOut) -> Result<()> {
        self.send(self.request(Method::POST, &["checkout"], SHORT_TIMEOUT).json(done)).await.map(drop)
    }

    /// Reports the start of a step, and returns its secrets and id tokens. The step may only run after this call has
    /// succeeded.
    pub async fn start_step(&self, step_run_id: &str, start: &StepStart) -> Result<StepStarted> {
        let path = ["steps", step_run_id, "start"];
        let response = self.send(self.request(Method::POST, &path, SHORT_TIMEOUT).json(start)).await?;
        // A server without secrets responds with null.
        read_secret::<Option<StepStarted>>(response).await.map(Option::unwrap_or_default)
    }

    /// Returns new id tokens of a running step. The caller sets `timeout`, because a response is only useful
    /// before the present tokens expire.
    pub async fn refresh_id_tokens(&self, step_run_id: &str, timeout: Duration) -> Result<RefreshedIdTokens> {
        let path = ["steps", step_run_id, "id-tokens"];
        read_secret(self.send(self.request(Method::POST, &path, timeout)).await?).await
    }

    pub async fn end_step(&self, step_run_id: &str, end: &StepEnd) -> Result<()> {
        let path = ["steps", step_run_id, "end"];
        self.send(self.request(Method::POST, &path, SHORT_TIMEOUT).json(end)).await.map(drop)
    }

    /// Appends bytes that were printed at this time to a step's log, at this offset.
    pub async fn append_log(
        &self,
        step_run_id: &str,
        offset: u64,
        at: Timestamp,
        bytes: Bytes,
    ) -> Result<Appended> {
        let path = ["steps", step_run_id, "logs"];
        let request = self
            .request(Method::POST, &path, LOG_TIMEOUT)
            .query(&[("offset", offset.to_string()), ("at", format!("{at:.3}"))])
            .header(CONTENT_TYPE, "application/octet-stream")
            .body(bytes);
        match send(request).await {
            Ok(response) => read::<LogSize>(response).await.map(|size| Appended::Taken(size.bytes)),
            Err(Error::Refused { code, detail, extensions, .. }) if code == "log_offset" => {
                let expected = extensions.get("expected").and_then(serde_json::Value::as_u64);
                expected.map(Appended::Expected).ok_or_else(|| {
                    Error::unavailable(format!(
                        "{detail} (the response does not contain the expected offset)"
                    ))
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Downloads an artifact to a file. Returns the SHA-256 of the file in hexadecimal digits.
    pub async fn get_artifact(&self, artifact_id: &str, into: &Path) -> Result<String> {
        self.download(&["artifacts", artifact_id], into).await
    }

    /// Downloads the archive of a step of a registry. The caller has to verify its digest.
    pub async fn get_step(&self, digest: &str) -> Result<Vec<u8>> {
        let request = self.request(Method::GET, &["steps", digest], STEP_ARCHIVE_TIMEOUT);
        transfer::download_small(self.send(request).await?, MAX_STEP_ARCHIVE_BYTES).await
    }

    /// Uploads the stage's artifact, a tar archive.
    pub async fn put_artifact(&self, file: &Path) -> Result<()> {
        self.upload(&["artifact"], file).await
    }

    /// Returns `None` if there is no cache under this key.
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
        self.send(self.request(Method::POST, &["complete"], SHORT_TIMEOUT).json(complete)).await.map(drop)
    }

    async fn download(&self, path: &[&str], into: &Path) -> Result<String> {
        let response = self.send(self.request(Method::GET, path, transfer::TIMEOUT)).await?;
        transfer::download(response, into).await
    }

    async fn upload(&self, path: &[&str], file: &Path) -> Result<()> {
        let Upload { body, size, sha256 } = transfer::upload(file).await?;
        let request = self
            .request(Method::PUT, path, transfer::TIMEOUT)
            .header(CONTENT_TYPE, "application/x-tar")
            .header(reqwest::header::CONTENT_LENGTH, size)
            .header(SHA256_HEADER, sha256)
            .body(body);
        self.send(request).await.map(drop)
    }

    fn request(&self, method: Method, rest: &[&str], timeout: Duration) -> RequestBuilder {
        let path = [&["runner", "jobs", self.job_id.as_str()], rest].concat();
        self.connection.request(method, &path, timeout).header(JOB_TOKEN_HEADER, self.token.clone())
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response> {
        send(request).await
    }
}
