//! Argon2id, on the blocking thread pool and two computations concurrently: each takes 19 MiB of memory and
//! tens of milliseconds of CPU time, and every client can request one.

use std::time::Duration;

use argon2::{Algorithm, Argon2, Params, Version};
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::password::Password;
use greenroom_store::system::password::StoredPassword;
use rand::RngExt;
use tokio::sync::Semaphore;
use zxcvbn::{Score, zxcvbn};

use crate::failure::{Code, Failure};

/// The parameters of new hashes, as OWASP recommends: 19 MiB, two iterations, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const ITERATIONS: u32 = 2;
const LANES: u32 = 1;
const HASH_BYTES: usize = 32;
const SALT_BYTES: usize = 16;

const MAX_CONCURRENT_HASHES: usize = 2;
/// How long a request waits for its turn.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);

static SLOTS: Semaphore = Semaphore::const_new(MAX_CONCURRENT_HASHES);

/// Hashes a new password. Fails if it is easy to guess; `related` are words that an attacker would try first,
/// such as the person's name.
#[boxed_futures]
pub async fn hash(password: Password, related: Vec<String>) -> Result<StoredPassword, Failure> {
    run(move || {
        let related: Vec<&str> = related.iter().map(String::as_str).collect();
        if zxcvbn(password.reveal(), &related).score() < Score::Three {
            let detail = "is easy to guess. Use several unrelated words, or let a password manager make one";
            return Err(Failure::field("/newPassword", detail));
        }
        let salt: [u8; SALT_BYTES] = rand::rng().random();
        let hash = compute(password.reveal(), &salt, MEMORY_KIB, ITERATIONS)?;
        let (memory_kib, iterations) = (to_column(MEMORY_KIB)?, to_column(ITERATIONS)?);
        Ok(StoredPassword { hash: hash.to_vec(), salt: salt.to_vec(), memory_kib, iterations })
    })
    .await
}

/// Returns whether a password matches. Without a stored password it takes the same time and returns `false`,
/// so that the time does not disclose which accounts exist.
#[boxed_futures]
pub async fn verify(password: String, stored: Option<StoredPassword>) -> Result<bool, Failure> {
    run(move || {
        let Some(stored) = stored else {
            compute(&password, &[0; SALT_BYTES], MEMORY_KIB, ITERATIONS)?;
            return Ok(false);
        };
        let parameter = |number: i32| u32::try_from(number).map_err(Failure::internal);
        let (memory, iterations) = (parameter(stored.memory_kib)?, parameter(stored.iterations)?);
        let hash = compute(&password, &stored.salt, memory, iterations)?;
        Ok(is_equal(&hash, &stored.hash))
    })
    .await
}

/// Runs a computation when it is its turn. It goes on if the client disconnects, and keeps its turn.
async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let turn = tokio::time::timeout(QUEUE_TIMEOUT, SLOTS.acquire()).await.map_err(|_| {
        Failure::new(Code::Overloaded, "Too many people are signing in right now. Try again in a moment.")
    })?;
    let turn = turn.map_err(Failure::internal)?;
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    done.await.map_err(Failure::internal)?
}

fn compute(
    password: &str,
    salt: &[u8],
    memory_kib: u32,
    iterations: u32,
) -> Result<[u8; HASH_BYTES], Failure> {
    let failed = |error: argon2::Error| Failure::internal(error.to_string());
    let parameters = Params::new(memory_kib, iterations, LANES, Some(HASH_BYTES)).map_err(failed)?;
    let mut hash = [0; HASH_BYTES];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters)
        .hash_password_into(password.as_bytes(), salt, &mut hash)
        .map_err(failed)?;
    Ok(hash)
}

fn to_column(number: u32) -> Result<i32, Failure> {
    i32::try_from(number).map_err(Failure::internal)
}

/// Compares all bytes, wherever the first difference is.
fn is_equal(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}
