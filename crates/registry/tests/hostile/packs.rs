//! Packs that need far more memory, time or space than their size suggests.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use greenroom_registry::RegistryError;

use crate::TestReader;
use crate::hostile_server::{HostileServer, OBJECT, Reply, pack_response, packet, result, result_head};

const COMMIT: u8 = 1;
const BLOB: u8 = 3;
const OFFSET_DELTA: u8 = 6;

/// The head of a pack with this many objects.
fn pack_head(count: u32) -> Vec<u8> {
    [&b"PACK"[..], &2_u32.to_be_bytes(), &count.to_be_bytes()].concat()
}

/// The head of an object: its type and its size.
fn object_head(kind: u8, size: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut byte, mut rest) = ((kind << 4) | u8::try_from(size & 15).unwrap(), size >> 4);
    while rest > 0 {
        bytes.push(byte | 0x80);
        byte = u8::try_from(rest & 0x7f).unwrap();
        rest >>= 7;
    }
    bytes.push(byte);
    bytes
}

/// A number as in a delta.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = u8::try_from(number & 0x7f).unwrap();
        number >>= 7;
        if number == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

/// A block of up to 65,535 bytes that is not compressed.
fn stored_block(is_last: bool, bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    [&[u8::from(is_last)][..], &length.to_le_bytes(), &(!length).to_le_bytes(), bytes].concat()
}

/// A zlib stream of one stored block.
fn deflated(bytes: &[u8]) -> Vec<u8> {
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    [&[0x78, 1][..], &stored_block(true, bytes), &((b << 16) | a).to_be_bytes()].concat()
}

/// Adds the checksum.
fn sealed(mut pack: Vec<u8>) -> Vec<u8> {
    let mut child = Command::new("sha1sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&pack).unwrap();
    let printed = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    pack.extend((0..40).step_by(2).map(|at| u8::from_str_radix(&printed[at..at + 2], 16).unwrap()));
    pack
}

async fn refusal(reply: impl Fn() -> Reply + Send + Sync + 'static) -> RegistryError {
    let server = HostileServer::start_with_objects(reply).await;
    TestReader::new().fetch_expected(&server.url, "roll-out/v1.0.0", OBJECT).await.unwrap_err()
}

async fn pack_refusal(pack: Vec<u8>) -> RegistryError {
    refusal(move || result(&pack_response(&pack))).await
}

#[tokio::test]
async fn a_pack_with_a_huge_number_of_objects_is_refused() {
    let error = pack_refusal(pack_head(u32::MAX)).await;
    assert!(matches!(error, RegistryError::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn a_huge_commit_is_refused() {
    let error = pack_refusal([pack_head(1), object_head(COMMIT, 8 << 30)].concat()).await;
    assert!(matches!(error, RegistryError::TooLarge { .. }), "{error:?}");
}

/// A few bytes that copy the same part of another object again and again.
#[tokio::test]
async fn a_delta_with_a_huge_result_is_refused() {
    let base = [object_head(BLOB, 60_000), deflated(&vec![0; 60_000])].concat();
    let copies: usize = 8 << 10;
    let mut delta = [varint(60_000), varint(60_000 * copies as u64)].concat();
    // Copies 60,000 bytes from offset 0.
    delta.extend([0x80 | 0x10 | 0x20, 0x60, 0xea].repeat(copies));
    let distance = base.len() as u64;
    let mut offset = vec![u8::try_from(distance & 0x7f).unwrap()];
    let mut rest = distance >> 7;
    while rest > 0 {
        rest -= 1;
        offset.insert(0, 0x80 | u8::try_from(rest & 0x7f).unwrap());
        rest >>= 7;
    }
    let object = [object_head(OFFSET_DELTA, delta.len() as u64), offset, deflated(&delta)].concat();
    let error = pack_refusal(sealed([pack_head(2), base, object].concat())).await;
    assert!(matches!(error, RegistryError::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn an_endless_pack_is_refused() {
    let start = [pack_head(1), object_head(BLOB, 1 << 40), vec![0x78, 1]].concat();
    let start = [result_head(), packet(b"packfile\n"), packet(&[&[1], &start[..]].concat())].concat();
    let piece = packet(&[&[1][..], &stored_block(false, &vec![0; 60_000])].concat()).repeat(10);
    let error =
        refusal(move || Reply::Endless { start: start.clone(), piece: piece.clone(), pause: Duration::ZERO })
            .await;
    assert!(matches!(error, RegistryError::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn a_pack_without_the_object_is_refused() {
    let object = [object_head(BLOB, 1), deflated(b"x")].concat();
    let error = pack_refusal(sealed([pack_head(1), object].concat())).await;
    assert!(matches!(error, RegistryError::Protocol), "{error:?}");
}
