//! Checks that every object store has to pass.

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use greenroom_worker::objects::{ByteStream, Objects, ObjectsError, StoredObject};
use sha2::{Digest, Sha256};

const MIB: usize = 1024 * 1024;

pub async fn check_all(objects: &Objects) {
    check_small_objects(objects).await;
    for length in [0, 1, 3 * MIB, 5 * MIB, 5 * MIB + 1, 29 * MIB] {
        check_stream(objects, length).await;
    }
    check_interrupted_and_oversized_streams(objects).await;
    check_missing_objects(objects).await;
    check_removal(objects).await;
}

/// Pseudorandom bytes with a long period.
fn bytes(length: usize) -> Bytes {
    let mut number = 7_u32;
    let next = || {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (number >> 24) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// A body in chunks of odd lengths, as they arrive from a network.
fn body(bytes: &Bytes) -> ByteStream {
    let chunks: Vec<Result<Bytes, std::io::Error>> =
        bytes.chunks(65_537).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    stream::iter(chunks).boxed()
}

async fn read(objects: &Objects, name: &str) -> Bytes {
    let pieces: Vec<Bytes> = objects.stream(name).await.unwrap().try_collect().await.unwrap();
    pieces.concat().into()
}

async fn check_small_objects(objects: &Objects) {
    let name = "logs/org_1/stp_1/000000000000000-10";
    objects.put(name, "0123456789".into()).await.unwrap();
    assert_eq!(objects.get(name, 0..10).await.unwrap(), "0123456789");
    assert_eq!(objects.get(name, 3..5).await.unwrap(), "34");
    assert_eq!(objects.get(name, 9..10).await.unwrap(), "9");
    assert_eq!(read(objects, name).await, "0123456789");
    // Idempotent: a server may have died before it could respond.
    objects.put(name, "0123456789".into()).await.unwrap();
    objects.put(name, "another one".into()).await.unwrap();
    assert_eq!(read(objects, name).await, "another one");
    objects.remove(name).await.unwrap();
}

async fn check_stream(objects: &Objects, length: usize) {
    let (name, bytes) = (format!("artifacts/org_1/art_{length}"), bytes(length));
    let stored = objects.put_stream(&name, body(&bytes), u64::MAX).await.unwrap();
    let sha256 = format!("{:x}", Sha256::digest(&bytes));
    assert_eq!(stored, StoredObject { bytes: length as u64, sha256 }, "{length}");
    assert!(read(objects, &name).await == bytes, "{length} bytes are not what was sent");
    // A range across the end of a part.
    if length > 5 * MIB + 100 {
        let range = 5 * MIB - 100..5 * MIB + 100;
        let found = objects.get(&name, range.start as u64..range.end as u64).await.unwrap();
        assert!(found == bytes.slice(range), "a range of {length} bytes is not what was sent");
    }
    objects.remove(&name).await.unwrap();
}

async fn check_interrupted_and_oversized_streams(objects: &Objects) {
    let all = bytes(20 * MIB);
    let too_long = objects.put_stream("long", body(&all), 19 * MIB as u64).await.unwrap_err();
    assert!(matches!(too_long, ObjectsError::TooLarge(_)), "{too_long:?}");
    let torn = stream::iter([Ok(all), Err(std::io::Error::other("the line is cut"))]);
    let torn = objects.put_stream("torn", torn.boxed(), u64::MAX).await.unwrap_err();
    assert!(matches!(torn, ObjectsError::BodyInterrupted), "{torn:?}");
    for name in ["long", "torn"] {
        assert!(matches!(objects.get(name, 0..1).await.unwrap_err(), ObjectsError::Missing(_)), "{name}");
    }
}

async fn check_missing_objects(objects: &Objects) {
    assert!(matches!(objects.get("nowhere/at/all", 0..1).await.unwrap_err(), ObjectsError::Missing(_)));
    let missing = objects.stream("nowhere/at/all").await.map(drop).unwrap_err();
    assert!(matches!(missing, ObjectsError::Missing(_)));
    objects.remove("nowhere/at/all").await.unwrap();
    objects.remove("nowhere/").await.unwrap();
}

async fn check_removal(objects: &Objects) {
    for number in 0..25 {
        objects.put(&format!("logs/org_1/stp_1/{number:015}-1"), "x".into()).await.unwrap();
    }
    objects.put("logs/org_1/stp_10/0", "of another step".into()).await.unwrap();
    objects.remove("logs/org_1/stp_1/").await.unwrap();
    for number in [0, 24] {
        let gone = objects.get(&format!("logs/org_1/stp_1/{number:015}-1"), 0..1).await;
        assert!(matches!(gone.unwrap_err(), ObjectsError::Missing(_)));
    }
    assert_eq!(read(objects, "logs/org_1/stp_10/0").await, "of another step");
    objects.remove("logs/org_1/stp_10/0").await.unwrap();
}

pub async fn check_unavailable(objects: &Objects) {
    let long = bytes(20 * MIB);
    let failures = [
        objects.put("a", "b".into()).await.err(),
        objects.put_stream("a", body(&Bytes::from_static(b"b")), 10).await.err(),
        objects.put_stream("a", body(&long), u64::MAX).await.err(),
    ];
    for failure in failures {
        assert!(matches!(failure, Some(ObjectsError::Unavailable(_))), "{failure:?}");
    }
}
