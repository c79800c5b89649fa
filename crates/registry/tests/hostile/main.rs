//! Registries on real git servers, and what an attacker would try with a registry.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]

mod addresses;
mod attacks;
mod credentials;
mod registries;
mod signatures;

use std::time::{Duration, Instant};

use greenroom_domain::step::StepTag;
use greenroom_outbound::AllowList;
use greenroom_registry::{Bounds, FetchedStep, ObjectId, RegistryError, RegistryReader, Source};
use tempfile::TempDir;

/// What a rejection may take beyond its timeout, on a busy machine.
const GRACE: Duration = Duration::from_secs(20);

/// A reader that may connect to this machine, with its temporary folder.
struct TestReader {
    reader: RegistryReader,
    folder: TempDir,
}

impl TestReader {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let allow = AllowList::new(["127.0.0.0/8".parse().unwrap()]);
        Self { reader: RegistryReader::new(allow, folder.path().to_owned()), folder }
    }

    /// Fetches a step whose tag is where the server states.
    async fn fetch(&self, url: &str, tag: &str) -> Result<FetchedStep, RegistryError> {
        let source = source(url);
        let tags = self.reader.list_tags(&source, &bounds()).await?;
        let found = tags.into_iter().find(|found| found.name == tag).expect("the tag is listed");
        self.fetch_expected(url, tag, found.object.as_str()).await
    }

    async fn fetch_expected(&self, url: &str, tag: &str, object: &str) -> Result<FetchedStep, RegistryError> {
        let (tag, object): (StepTag, ObjectId) = (StepTag::parse(tag).unwrap(), object.parse().unwrap());
        let started = Instant::now();
        let result = self.reader.fetch_step(&source(url), &tag, &object, &bounds()).await;
        assert!(started.elapsed() < bounds().timeout + GRACE);
        // Nothing is left behind.
        assert_eq!(std::fs::read_dir(self.folder.path()).unwrap().count(), 0);
        result
    }
}

fn source(url: &str) -> Source {
    Source::new(url, None).unwrap()
}

fn bounds() -> Bounds {
    Bounds {
        timeout: Duration::from_secs(30),
        low_speed_timeout: Duration::from_secs(2),
        max_pack_bytes: 16 << 20,
        ..Bounds::default()
    }
}
