//! The member who works: requests over HTTPS, one after the other, in a few programs.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

const PROGRAMS: usize = 4;
const INTERVAL: Duration = Duration::from_millis(20);
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(super) struct Member {
    http: reqwest::Client,
    url: String,
    token: String,
}

#[derive(Default)]
pub(super) struct Window {
    pub(super) took: Vec<Duration>,
    pub(super) failures: Vec<String>,
}

impl Member {
    pub(super) fn new(address: &str, certificate: &Path, token: &str) -> anyhow::Result<Self> {
        let authority = reqwest::Certificate::from_pem(&std::fs::read(certificate)?)?;
        let http =
            reqwest::Client::builder().no_proxy().timeout(TIMEOUT).tls_certs_only([authority]).build()?;
        Ok(Self {
            http,
            url: format!("https://{address}/api/v1/organizations/acme"),
            token: token.to_owned(),
        })
    }

    /// Sends requests for this long.
    pub(super) async fn work(&self, duration: Duration) -> Window {
        let mut programs = JoinSet::new();
        for _ in 0..PROGRAMS {
            let own = self.clone();
            programs.spawn(async move { own.requests(duration).await });
        }
        let mut all = Window::default();
        while let Some(window) = programs.join_next().await {
            let window =
                window.unwrap_or_else(|error| Window { took: Vec::new(), failures: vec![error.to_string()] });
            all.took.extend(window.took);
            all.failures.extend(window.failures);
        }
        all
    }

    async fn requests(&self, duration: Duration) -> Window {
        let (began, mut window) = (Instant::now(), Window::default());
        while began.elapsed() < duration {
            let sent = Instant::now();
            match self.request().await {
                Ok(200) => window.took.push(sent.elapsed()),
                Ok(status) => window.failures.push(format!("a request of the member got {status}")),
                Err(error) => window.failures.push(format!("a request of the member failed: {error}")),
            }
            tokio::time::sleep(INTERVAL).await;
        }
        window
    }

    async fn request(&self) -> reqwest::Result<u16> {
        let response = self.http.get(&self.url).bearer_auth(&self.token).send().await?;
        let status = response.status().as_u16();
        response.bytes().await?;
        Ok(status)
    }
}

/// Returns the time that 95 % of the requests did not exceed.
pub(super) fn p95(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() * 95 / 100).copied().unwrap_or_default()
}
