//! Packs that need far more memory, time or space than their size suggests, and packs with other content than the tag.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::hostile_server::{HostileServer, Reply, pack_response, packet, result, result_head};
use crate::repository::Repository;
use crate::{HostileRegistry, Served};

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

/// A registry that responds so to a request for objects.
fn objects(
    name: &'static str,
    reason: &'static str,
    reply: impl Fn() -> Reply + Clone + Send + Sync + 'static,
) -> HostileRegistry {
    HostileRegistry::new(name, reason, move || {
        let reply = reply.clone();
        async move { Served::server(HostileServer::start_with_objects(reply).await) }
    })
}

fn pack(
    name: &'static str,
    reason: &'static str,
    make: impl Fn() -> Vec<u8> + Clone + Send + Sync + 'static,
) -> HostileRegistry {
    objects(name, reason, move || result(&pack_response(&make())))
}

/// A few bytes that copy the same part of another object again and again.
fn delta_bomb() -> Vec<u8> {
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
    sealed([pack_head(2), base, object].concat())
}

fn endless() -> Reply {
    let start = [pack_head(1), object_head(BLOB, 1 << 40), vec![0x78, 1]].concat();
    let start = [result_head(), packet(b"packfile\n"), packet(&[&[1], &start[..]].concat())].concat();
    let piece = packet(&[&[1][..], &stored_block(false, &vec![0; 60_000])].concat()).repeat(10);
    Reply::Endless { start, piece, pause: Duration::ZERO }
}

fn endless_messages() -> Reply {
    let piece = packet(b"\x02all is well\n").repeat(1000);
    Reply::Endless { start: [result_head(), packet(b"packfile\n")].concat(), piece, pause: Duration::ZERO }
}

/// The commit and the folders are those of the tag; the file is another one.
async fn lying_digest() -> Served {
    let repository = Repository::with_step();
    let commit = repository.git(&["rev-parse", "HEAD"]);
    let folders = repository.git(&["rev-parse", "HEAD^{tree}", "HEAD:roll-out"]);
    let other = repository.blob(b"name: other\n");
    let pack = repository.pack(&format!("{commit}\n{folders}\n{other}\n"));
    let server = HostileServer::start_with_tag(&commit, move || result(&pack_response(&pack))).await;
    Served::server(server)
}

pub fn all() -> Vec<HostileRegistry> {
    let too_large = "too large to be read";
    vec![
        HostileRegistry::new("lying-digest", "its response is damaged", lying_digest).in_ci(),
        pack("pack-without-the-object", "its response is damaged", || {
            sealed([pack_head(1), object_head(BLOB, 1), deflated(b"x")].concat())
        }),
        pack("pack-object-count", too_large, || pack_head(u32::MAX)),
        pack("pack-object-size", too_large, || [pack_head(1), object_head(COMMIT, 8 << 30)].concat()),
        pack("delta-bomb", too_large, delta_bomb),
        objects("endless-pack", too_large, endless),
        objects("endless-messages", too_large, endless_messages),
    ]
}
