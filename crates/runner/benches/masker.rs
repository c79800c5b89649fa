//! `cargo xtask bench masker`: how fast logs are masked, in pieces of 100 bytes and with 50 secrets, three of
//! them PEM files. The exit code is 1 if that is slower than 50 MiB/s.

use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use greenroom_runner::log::{Masker, SecretPatterns};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

const MIN_MIB_PER_SECOND: f64 = 50.0;
const MIB: f64 = 1024.0 * 1024.0;
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[derive(Parser)]
struct Arguments {
    /// Print one JSON object, and nothing else, on standard output
    #[arg(long)]
    json: bool,
    /// Size of the log, in MiB
    #[arg(long, default_value_t = 64)]
    log_mib: usize,
    #[arg(long, default_value_t = 5)]
    runs: usize,
    #[arg(long, default_value_t = 100)]
    piece_bytes: usize,
    #[arg(long, default_value_t = 50)]
    secrets: usize,
    /// The seed of log and secrets
    #[arg(long, default_value_t = 20_261_116)]
    seed: u64,
    /// Added by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    anyhow::ensure!(arguments.runs > 0 && arguments.piece_bytes > 0, "--runs and --piece-bytes begin at 1");
    let mut random = StdRng::seed_from_u64(arguments.seed);
    let secrets = secrets(arguments.secrets, &mut random);
    let log = log(arguments.log_mib * 1024 * 1024, &secrets, &mut random);
    let none = rates(&log, &arguments, &[])?;
    let all = rates(&log, &arguments, &secrets)?;
    let five = preparation_milliseconds(secrets.get(..5).unwrap_or(&secrets))?;
    let everything = preparation_milliseconds(&secrets)?;
    let largest: Vec<Vec<u8>> = (0..4).map(|_| letters(64 * 1024, &mut random)).collect();
    let largest = preparation_milliseconds(&largest)?;
    let rate = median(&all);
    let mut out = std::io::stdout();
    if arguments.json {
        let result = json!({
            "mibPerSecond": rate,
            "minMibPerSecond": MIN_MIB_PER_SECOND,
            "runs": all,
            "mibPerSecondWithoutSecrets": median(&none),
            "pieceBytes": arguments.piece_bytes,
            "secrets": secrets.len(),
            "prepareFiveSecretsMs": five,
            "prepareAllSecretsMs": everything,
            "prepareLargestSecretsMs": largest,
        });
        writeln!(out, "{result}")?;
    } else {
        writeln!(
            out,
            "{rate:.0} MiB/s with {} secrets, {:.0} MiB/s without; preparing five secrets takes {five:.2} ms, all {everything:.1} ms, the largest {largest:.0} ms",
            secrets.len(),
            median(&none),
        )?;
    }
    Ok(if rate >= MIN_MIB_PER_SECOND { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns random passwords and tokens of 16 to 64 letters, and three PEM files among them.
fn secrets(count: usize, random: &mut StdRng) -> Vec<Vec<u8>> {
    let mut secrets: Vec<Vec<u8>> = (0..count.saturating_sub(3))
        .map(|_| {
            let length = random.random_range(16..=64);
            letters(length, random)
        })
        .collect();
    secrets.extend((secrets.len()..count).map(|_| {
        let body: Vec<Vec<u8>> = (0..26).map(|_| [&letters(64, random)[..], b"\n"].concat()).collect();
        [&b"-----BEGIN PRIVATE KEY-----\n"[..], &body.concat(), b"-----END PRIVATE KEY-----\n"].concat()
    }));
    secrets
}

fn letters(count: usize, random: &mut StdRng) -> Vec<u8> {
    (0..count).map(|_| LETTERS[random.random_range(0..LETTERS.len())]).collect()
}

/// Returns lines as builds print them. One in a hundred contains a secret, or the beginning of one.
fn log(bytes: usize, secrets: &[Vec<u8>], random: &mut StdRng) -> Vec<u8> {
    let mut log = Vec::with_capacity(bytes + 4096);
    while log.len() < bytes {
        let number: u32 = random.random();
        let line = match number % 4 {
            0 => format!(
                "2026-11-16T13:{:02}:{:02}.{:03}Z INFO  compiling crate-{} v{}.{}.{}",
                number % 60,
                number / 60 % 60,
                number % 1000,
                number % 700,
                number % 9,
                number % 23,
                number % 7
            ),
            1 => format!(
                "#{} sha256:{:08x}{:08x}{:08x}{:08x} {}.{} MB / 48.1 MB",
                number % 30,
                number,
                number.rotate_left(7),
                !number,
                number.rotate_left(19),
                number % 48,
                number % 10
            ),
            2 => {
                format!("test module_{}::behaves_as_described_in_case_{} ... ok", number % 90, number % 1000)
            }
            _ => {
                format!("GET /api/v1/organizations/acme/pipelines/{number}?limit=50 200 {} ms", number % 300)
            }
        };
        log.extend_from_slice(line.as_bytes());
        if number.is_multiple_of(100) && !secrets.is_empty() {
            let secret = &secrets[random.random_range(0..secrets.len())];
            let until = if number.is_multiple_of(200) { secret.len() } else { secret.len() / 2 };
            log.push(b' ');
            log.extend_from_slice(&secret[..until]);
        }
        log.push(b'\n');
    }
    log.truncate(bytes);
    log
}

/// Returns the MiB/s of each run.
fn rates(log: &[u8], arguments: &Arguments, secrets: &[Vec<u8>]) -> anyhow::Result<Vec<f64>> {
    let patterns = Arc::new(patterns(secrets)?);
    let mut out = Vec::with_capacity(1024 * 1024);
    let mut run = || {
        let begin = Instant::now();
        let mut masker = Masker::new(Arc::clone(&patterns));
        for piece in log.chunks(arguments.piece_bytes) {
            masker.push(piece, &mut out);
            if out.len() >= 512 * 1024 {
                black_box(&out);
                out.clear();
            }
        }
        masker.finish(&mut out);
        log.len() as f64 / MIB / begin.elapsed().as_secs_f64()
    };
    // The first run is not counted: the memory has to be mapped.
    run();
    Ok((0..arguments.runs).map(|_| run()).collect())
}

fn patterns(secrets: &[Vec<u8>]) -> anyhow::Result<SecretPatterns> {
    let named = secrets.iter().map(|secret| ("secret", secret.as_slice()));
    SecretPatterns::new(named).map_err(anyhow::Error::msg).context("the secrets can't be masked")
}

fn preparation_milliseconds(secrets: &[Vec<u8>]) -> anyhow::Result<f64> {
    let mut times = Vec::new();
    for _ in 0..5 {
        let begin = Instant::now();
        black_box(patterns(secrets)?);
        times.push(begin.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(median(&times))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
