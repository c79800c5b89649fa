//! Runs the dashboard's tests in a browser against a demo stack of their own, or against one that runs.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::Args;
use serde::Deserialize;

use super::node::{self, Node};
use crate::output;
use crate::workspace::{self, Workspace};

/// The file with the figures of a run, relative to the dashboard. `e2e/support/reporter.ts` writes it.
const REPORT: &str = "test-results/report.json";

/// The operator's file with OpenID providers, for the server and for the tests.
const OIDC_VARIABLE: &str = "GREENROOM_OIDC_PROVIDERS";
/// The destinations that the server may reach although they are not on the internet.
const OUTBOUND_VARIABLE: &str = "GREENROOM_OUTBOUND_ALLOW";
/// The providers of the tests are on this machine, and so is everything that the pages name.
const OUTBOUND_ALLOW: &str =
    "provider=127.0.0.0/8,issuer=127.0.0.0/8,registry=127.0.0.0/8,forge=127.0.0.0/8,model=127.0.0.0/8";

#[derive(Args)]
#[group(id = "browser")]
pub(crate) struct Options {
    /// Print only the figures as a JSON object on stdout: passed, failed, axeSerious, screens, flaky
    #[arg(long)]
    json: bool,
    /// The name of the stack, as for dev/stack
    #[arg(long, default_value = "ui")]
    stack: String,
    /// Keep the stack running afterwards
    #[arg(long)]
    keep: bool,
    /// Do not build the dashboard: `cargo xtask ui build` or `check` has, and the server was compiled after that
    #[arg(long)]
    pub(super) built: bool,
    /// Arguments for Playwright, after `--`, such as the names of files
    #[arg(last = true)]
    rest: Vec<String>,
}

/// What `dev/stack up --demo --json` prints, as far as the tests use it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stack {
    dashboard_url: String,
    base_url: String,
    database_url: String,
    tokens: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Figures {
    passed: u64,
    failed: u64,
    #[serde(rename = "axeSerious")]
    axe_serious: u64,
    screens: u64,
}

/// Starts the stack, runs the tests in `files`, or all of them, and prints the figures.
pub(super) fn run(
    workspace: &Workspace,
    node: &Node,
    options: &Options,
    files: &[&str],
    variables: &[(&str, OsString)],
) -> anyhow::Result<ExitCode> {
    let chromium = node::chromium()?;
    let providers = write_providers(workspace)?;
    let printed = stack(workspace, &["up", "--demo", "--json", "--name", options.stack.as_str()], &providers);
    let tested = printed.and_then(|printed| {
        let demo: Stack = serde_json::from_str(&printed).context("dev/stack printed an unknown form")?;
        // The tests start servers too, by dev/stack.
        let for_servers =
            [(OIDC_VARIABLE, providers.clone().into()), (OUTBOUND_VARIABLE, OUTBOUND_ALLOW.into())];
        let variables: Vec<_> = variables.iter().chain(&for_servers).cloned().collect();
        test(workspace, node, options, files, &variables, &demo, chromium)
    });
    if !options.keep {
        stack(workspace, &["reset", "--name", options.stack.as_str()], &providers)?;
    }
    tested
}

fn test(
    workspace: &Workspace,
    node: &Node,
    options: &Options,
    files: &[&str],
    variables: &[(&str, OsString)],
    demo: &Stack,
    chromium: PathBuf,
) -> anyhow::Result<ExitCode> {
    let report = workspace.workspace_root.join("dashboard").join(REPORT);
    if report.exists() {
        fs::remove_file(&report).with_context(|| format!("cannot remove {}", report.display()))?;
    }
    let mut command = node.command("npx");
    command
        .args(["playwright", "test"])
        .args(files)
        .args(&options.rest)
        .env("GREENROOM_DASHBOARD_URL", &demo.dashboard_url)
        .env("GREENROOM_API_URL", &demo.base_url)
        .env("GREENROOM_TOKENS", serde_json::to_string(&demo.tokens)?)
        .env("GREENROOM_SIGN_IN_COMMAND", serde_json::to_string(&sign_in_command(workspace, demo))?)
        // The command above reads it. It is no argument, because it contains a password.
        .env("GREENROOM_DATABASE_URL", &demo.database_url)
        // For the tests that kill a server: dev/stack finds the stack by it.
        .env("GREENROOM_STACK", &options.stack)
        .env("GREENROOM_CHROMIUM", chromium)
        .env("GREENROOM_UI_REPORT", &report)
        .envs(variables.iter().map(|(name, value)| (name, value)));
    let status = command.status().context("cannot start playwright")?;
    let text = fs::read_to_string(&report).context("the tests ended without a report")?;
    let figures: Figures = serde_json::from_str(&text).context("the report has an unknown form")?;
    print(options, &figures, &text)?;
    let is_good = status.success() && figures.failed == 0 && figures.axe_serious == 0;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(options: &Options, figures: &Figures, text: &str) -> anyhow::Result<()> {
    if options.json {
        output::print(text.trim_end())?;
    } else {
        let Figures { passed, failed, axe_serious, screens } = figures;
        output::print(format_args!(
            "{passed} passed, {failed} failed; axe: {axe_serious} serious on {screens} screens"
        ))?;
    }
    Ok(())
}

/// Returns the command that prints a sign-in link. The tests append the person's e-mail address.
fn sign_in_command(workspace: &Workspace, demo: &Stack) -> Vec<String> {
    let daemon = env::var_os("GREENROOMD")
        .map_or_else(|| workspace.target_directory.join("debug").join("greenroomd"), PathBuf::from);
    let origin = demo.dashboard_url.trim_end_matches('/');
    let mut command = vec![daemon.to_string_lossy().into_owned()];
    command.extend(["admin", "sign-in-link", "--public-url", origin, "--email"].map(str::to_owned));
    command
}

/// Writes the settings of two OpenID providers, which the tests start at these addresses: one that states e-mail
/// addresses in its tokens, and one that states them on request.
fn write_providers(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    // Both listeners stay open until both ports are known, so that they differ.
    let listeners = [TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?];
    let mut providers = Vec::new();
    for (listener, (id, name)) in listeners.iter().zip([("example", "Example"), ("userinfo", "Userinfo")]) {
        providers.push(serde_json::json!({
            "id": id,
            "name": name,
            "issuer": format!("http://localhost:{}", listener.local_addr()?.port()),
            "clientId": "greenroom",
            "clientSecret": "a-secret-of-the-tests",
            "domains": ["example.test", "elsewhere.test"],
        }));
    }
    // Not in the folder of the results, which Playwright empties at the start.
    let file = workspace.target_directory.join("oidc-providers.json");
    fs::write(&file, serde_json::to_string(&providers)?)
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// Runs dev/stack and returns what it prints.
fn stack(workspace: &Workspace, arguments: &[&str], providers: &Path) -> anyhow::Result<String> {
    let mut command = Command::new(workspace.workspace_root.join("dev").join("stack"));
    command
        .args(arguments)
        .env(OIDC_VARIABLE, providers)
        .env(OUTBOUND_VARIABLE, OUTBOUND_ALLOW)
        .current_dir(&workspace.workspace_root);
    workspace::output(&mut command)
}
