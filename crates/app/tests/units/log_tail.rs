//! The cached end of a log, and who is woken up when it grows.

use std::time::Duration;

use bytes::Bytes;
use greenroom_app::log::tail::{End, LogProgress, LogTails};
use greenroom_domain::id::{OrganizationId, StepRunId};
use greenroom_store::log::LogState;
use greenroom_worker::log_reader::LogPart;
use jiff::Timestamp;

fn part(start: u64, text: &'static str) -> LogPart {
    LogPart { start, at: Timestamp::UNIX_EPOCH, bytes: Bytes::from_static(text.as_bytes()) }
}

fn read(end: &End, from: u64) -> Option<String> {
    let parts = end.parts_from(from)?;
    assert_eq!(parts[0].start, from);
    Some(parts.iter().map(|part| std::str::from_utf8(&part.bytes).unwrap()).collect())
}

#[test]
fn the_end_of_a_log_is_read_from_any_cached_offset() {
    let mut end = End::default();
    end.add(&[part(10, "hello "), part(16, "world")]);
    assert_eq!(read(&end, 10).as_deref(), Some("hello world"));
    assert_eq!(read(&end, 18).as_deref(), Some("rld"));
    assert_eq!((read(&end, 9), read(&end, 21)), (None, None));
    end.add(&[part(21, "!")]);
    assert_eq!(read(&end, 16).as_deref(), Some("world!"));
    end.add(&[part(5, "from before")]);
    assert_eq!((read(&end, 5).as_deref(), read(&end, 21)), (Some("from before"), None));
}

#[tokio::test]
async fn a_log_wakes_its_own_followers_only_and_never_goes_back() {
    let tails = LogTails::default();
    let organization = OrganizationId::from(uuid::Uuid::from_u128(1));
    let [one, other] = [1, 2].map(|number| StepRunId::from(uuid::Uuid::from_u128(number)));
    let state = LogState { bytes: 5, closed: false, expired_at: None, lines: None };
    let mut follower = tails.follow(organization, one, state);
    let mut second = tails.follow(organization, one, LogState { bytes: 3, ..state });
    assert_eq!((follower.progress().bytes, second.progress().bytes), (5, 5));
    tails.advance(organization, other, 100);
    tails.advance(organization, one, 4);
    let soon = Duration::from_millis(50);
    assert!(tokio::time::timeout(soon, follower.changed()).await.is_err());
    tails.advance(organization, one, 9);
    tokio::time::timeout(soon, follower.changed()).await.unwrap();
    tokio::time::timeout(soon, second.changed()).await.unwrap();
    assert_eq!(follower.progress(), LogProgress { bytes: 9, closed: false });
}
