//! `cargo xtask bench builds`: how long a developer waits after a small change, and how long the tests of each crate take to
//! build and to run. A file is changed, the command is run, and the file is restored.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::output;
use crate::processor_time;
use crate::workspace::{Package, Workspace, cargo_program};

/// The stack on which the browser test runs. It keeps running, as a developer's does.
const STACK: &str = "bench-builds";

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Loops,
    Crates,
}

#[derive(Args)]
pub(crate) struct Options {
    /// Only this part
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// Measure another checkout, such as one of an earlier revision. Set `CARGO_TARGET_DIR` to a separate target folder
    #[arg(long, value_name = "FOLDER")]
    checkout: Option<PathBuf>,
    /// How often each change is measured; the result is the median
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Print only one JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// A change to one file, and the command that a developer runs after it.
struct Loop {
    name: &'static str,
    file: &'static str,
    command: &'static str,
}

const LOOPS: [Loop; 3] = [
    Loop {
        name: "a handler, greenroomd",
        file: "crates/server/src/http/pipeline.rs",
        command: "cargo build",
    },
    Loop {
        name: "a function of store, a test of server",
        file: "crates/store/src/member.rs",
        command: "cargo nextest run --package greenroom-server --test environments lists::",
    },
    Loop {
        name: "a component, a browser test",
        file: "dashboard/src/features/environment/EnvironmentCard.tsx",
        command: "cargo xtask ui --keep --stack bench-builds -- e2e/board.spec.ts --grep viewer",
    },
];

#[derive(Clone, Copy)]
struct Time {
    wall: Duration,
    /// Processor time of the command and of all processes that it has waited for.
    cpu: Duration,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<()> {
    ensure!(options.runs > 0, "--runs must be at least 1");
    let root = options.checkout.as_deref().unwrap_or(&workspace.workspace_root);
    let mut rows = Vec::new();
    if options.only != Some(Part::Crates) {
        for measured in &LOOPS {
            output::progress(format_args!("{}: {}", measured.name, measured.command));
            let time = median(root, &root.join(measured.file), measured.command, options.runs)?;
            rows.push((measured.name.to_owned(), time, None));
        }
        stop_stack(root)?;
    }
    if options.only != Some(Part::Loops) {
        for package in &workspace.packages {
            rows.extend(tests_of(package, root)?);
        }
    }
    print(&rows, options.json)
}

/// Builds and runs the tests of a package after a change to its root module. `None` if it has no tests.
fn tests_of(package: &Package, root: &Path) -> anyhow::Result<Option<(String, Time, Option<Time>)>> {
    let has_tests = package.targets.iter().any(|target| target.test);
    let root_module = package
        .targets
        .iter()
        .find(|target| ["lib", "bin"].iter().any(|kind| target.kind.contains(&(*kind).to_owned())));
    let (true, Some(root_module)) = (has_tests, root_module) else { return Ok(None) };
    output::progress(format_args!("the tests of {}", package.name));
    let build = format!("cargo nextest run --package {} --no-run", package.name);
    let run = format!("cargo nextest run --package {} --no-fail-fast --no-tests pass", package.name);
    let built = median(root, &root_module.src_path, &build, 1)?;
    let ran = measure(root, &run)?;
    Ok(Some((package.name.clone(), built, Some(ran))))
}

/// Runs the command until everything is built, and then after each of some changes to a file.
fn median(root: &Path, file: &Path, command: &str, runs: usize) -> anyhow::Result<Time> {
    measure(root, command)?;
    let changed = ChangedFile::open(file)?;
    let mut times = Vec::new();
    for number in 0..runs {
        changed.change(number)?;
        times.push(measure(root, command)?);
    }
    times.sort_by_key(|time| time.wall);
    Ok(times[times.len() / 2])
}

/// A file that is changed. Its contents are restored at the end.
struct ChangedFile<'a> {
    path: &'a Path,
    contents: String,
}

impl<'a> ChangedFile<'a> {
    fn open(path: &'a Path) -> anyhow::Result<Self> {
        let contents = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self { path, contents })
    }

    /// Adds an attribute to the first element of a component. In Rust, adds empty lines before the first import: the positions of
    /// all that follows change, and they are part of what the compiler writes.
    fn change(&self, number: usize) -> anyhow::Result<()> {
        let changed = if self.path.extension().is_some_and(|extension| extension == "tsx") {
            self.contents.replacen("className=", &format!("data-changed=\"{number}\" className="), 1)
        } else {
            let lines = "\n".repeat(number + 2);
            match self.contents.contains("\nuse ") {
                true => self.contents.replacen("\nuse ", &format!("{lines}use "), 1),
                false => self.contents.replacen("\nmod ", &format!("{lines}mod "), 1),
            }
        };
        ensure!(changed != self.contents, "{} could not be changed", self.path.display());
        fs::write(self.path, changed).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

impl Drop for ChangedFile<'_> {
    fn drop(&mut self) {
        if let Err(error) = fs::write(self.path, &self.contents) {
            output::progress(format_args!("{} could not be restored: {error}", self.path.display()));
        }
    }
}

fn measure(root: &Path, command: &str) -> anyhow::Result<Time> {
    let mut words = command.split(' ');
    let program = words.next().context("no command")?;
    let program = if program == "cargo" { cargo_program() } else { program.to_owned() };
    let (began, cpu) = (Instant::now(), processor_time::of_children()?);
    let mut started = Command::new(program);
    started.args(words).current_dir(root).stdout(Stdio::null());
    // `cargo xtask` has set them for this checkout.
    for variable in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH"] {
        started.env_remove(variable);
    }
    let status = started.status().with_context(|| format!("cannot start {command}"))?;
    ensure!(status.success(), "{command} ended with {status}");
    Ok(Time { wall: began.elapsed(), cpu: processor_time::of_children()?.saturating_sub(cpu) })
}

fn stop_stack(root: &Path) -> anyhow::Result<()> {
    measure(root, &format!("dev/stack reset --name {STACK}")).map(|_| ())
}

fn print(rows: &[(String, Time, Option<Time>)], as_json: bool) -> anyhow::Result<()> {
    let seconds = |time: &Time| (time.wall.as_secs_f64(), time.cpu.as_secs_f64());
    if as_json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(name, time, tests)| {
                let (wall, cpu) = seconds(time);
                let tests = tests.as_ref().map(|tests| seconds(tests).0);
                json!({ "name": name, "seconds": wall, "cpuSeconds": cpu, "testSeconds": tests })
            })
            .collect();
        output::print(json!({ "builds": rows }))?;
        return Ok(());
    }
    output::print(
        "| After a change to | Seconds | Processor seconds | Running the tests |\n|---|---|---|---|",
    )?;
    for (name, time, tests) in rows {
        let (wall, cpu) = seconds(time);
        let tests = tests.as_ref().map_or_else(|| "–".to_owned(), |tests| format!("{:.1}", seconds(tests).0));
        output::print(format_args!("| {name} | {wall:.1} | {cpu:.1} | {tests} |"))?;
    }
    Ok(())
}
