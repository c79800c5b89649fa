//! The object store on a disk and on an S3 server: the same checks have to pass on both.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may")]

mod checks;
mod seaweed;

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use greenroom_worker::objects::{Objects, ObjectsError};

use crate::seaweed::Seaweed;

const NO_VARIABLES: [(String, String); 0] = [];

fn folder() -> std::path::PathBuf {
    std::env::temp_dir().join(format!("greenroom-objects-{}", uuid::Uuid::now_v7()))
}

/// Retries while the server is unavailable, as it is for a while after its start.
async fn eventually(objects: &Objects, name: &str, range: std::ops::Range<u64>) -> bytes::Bytes {
    let started = Instant::now();
    loop {
        match objects.get(name, range.clone()).await {
            Ok(bytes) => return bytes,
            Err(failure) if started.elapsed() < Duration::from_secs(60) => {
                assert!(matches!(failure, ObjectsError::Unavailable(_)), "{failure:?}");
            }
            Err(failure) => panic!("{failure:?}"),
        }
    }
}

#[tokio::test]
async fn objects_on_a_disk() {
    let folder = folder();
    let objects = Objects::open(&format!("file://{}", folder.display()), NO_VARIABLES).unwrap();
    let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "other users of the machine can read {mode:o}");
    checks::check_all(&objects).await;
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "not even empty folders are left");

    // Simulates a disk that is gone.
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "").unwrap();
    checks::check_unavailable(&objects).await;
    std::fs::remove_file(&folder).unwrap();
}

#[tokio::test]
async fn waits_objects_on_s3() {
    let mut seaweed = Seaweed::start().await;
    let objects = Objects::open(seaweed.address(), seaweed.variables()).unwrap();
    checks::check_all(&objects).await;

    let mut guessed = seaweed.variables();
    guessed.insert("AWS_SECRET_ACCESS_KEY".to_owned(), "guessed".to_owned());
    let other_client = Objects::open(seaweed.address(), guessed).unwrap();
    let denied = other_client.get("a", 0..1).await.unwrap_err();
    assert!(matches!(denied, ObjectsError::Unavailable(_)), "{denied:?}");

    objects.put("kept", "through it all".into()).await.unwrap();
    seaweed.stop().await;
    let started = Instant::now();
    checks::check_unavailable(&objects).await;
    assert!(started.elapsed() < Duration::from_secs(60), "a request has 15 s: {:?}", started.elapsed());
    seaweed.start_again().await;
    assert_eq!(eventually(&objects, "kept", 0..7).await, "through");
    seaweed.stop().await;
}

#[test]
fn an_invalid_address_is_rejected() {
    for address in ["", "/var/lib", "http://example.test/bucket", "ftp://x"] {
        let error = Objects::open(address, NO_VARIABLES).unwrap_err().to_string();
        assert!(error.contains("neither file:// nor s3://"), "{address}: {error}");
    }
}
