//! `cost [--mib 10] [--unique]`: prints the CPU time and the memory that reading and ranking a log takes. The log is
//! generated piece by piece, outside of what is measured, and compared with a good run. With `--unique`, every line is
//! new and has a template of its own.

use std::fs;
use std::io::{self, Write};

use greenroom_analysis::reduce::{Budget, Reducer};

#[path = "../tests/noise/mod.rs"]
mod noise;

use self::noise::{Random, noise};

const MIB: usize = 1 << 20;

fn main() -> io::Result<()> {
    let options: Vec<String> = std::env::args().skip(1).collect();
    let mib = options.iter().position(|option| option == "--mib").and_then(|place| options.get(place + 1));
    let mib: usize = mib.and_then(|mib| mib.parse().ok()).unwrap_or(10);
    let is_unique = options.iter().any(|option| option == "--unique");
    let random = &mut Random::new(1);

    let mut good = Reducer::new(&[]);
    good.push(noise(random, 20_000).as_bytes());
    let baseline = good.templates();
    drop(good);
    let mut piece = piece(random, is_unique);
    let before = memory("VmRSS")?;
    let mut reducer = Reducer::new(&[baseline]);
    let (mut scan, mut lines) = (0, 0_usize);
    for _ in 0..mib {
        if mib <= 100 || is_unique {
            piece = self::piece(random, is_unique);
        }
        lines += piece.iter().filter(|byte| **byte == b'\n').count();
        let start = cpu_nanoseconds()?;
        reducer.push(&piece);
        scan += cpu_nanoseconds()? - start;
    }
    reducer.push(b"error: the last line\n");
    let start = cpu_nanoseconds()?;
    let reduction = reducer.finish(Budget::STORED);
    let rank = cpu_nanoseconds()? - start;
    let grown = memory("VmHWM")?.saturating_sub(before);
    let milliseconds = |nanoseconds: u64| nanoseconds as f64 / 1e6;
    writeln!(
        io::stdout(),
        "{mib} MiB, {lines} lines: scan {:.1} ms, rank {:.1} ms of CPU; memory +{:.1} MiB; {} new lines, {} templates",
        milliseconds(scan),
        milliseconds(rank),
        grown as f64 / 1024.0,
        reduction.size.new_lines,
        reducer.templates().len(),
    )
}

/// A piece of the log of about 1 MiB.
fn piece(random: &mut Random, is_unique: bool) -> Vec<u8> {
    let mut text = String::with_capacity(MIB + 4_096);
    while text.len() < MIB {
        if is_unique {
            let word: String = (0..12).map(|_| char::from(b'g' + random.below(20) as u8)).collect();
            text.push_str(&format!("error in {word}: task {} of the run did not end\n", random.below(1_000)));
        } else {
            text.push_str(&noise(random, 16));
        }
    }
    text.truncate(MIB);
    text.into_bytes()
}

/// The time on a processor of this process, which has one thread.
fn cpu_nanoseconds() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/self/schedstat")?;
    Ok(text.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_default())
}

/// Kibibytes.
fn memory(name: &str) -> io::Result<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    Ok(line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or_default())
}
