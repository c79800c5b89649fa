//! `drill restore`: a backup is made while clients deploy, and restored beside the original. `admin verify` has to find nothing
//! in it, and each damage that is planted in a copy of it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use reqwest::Method;
use serde::Serialize;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::process::Command;

use crate::fault::deployments::definition::PIPELINES;
use crate::fault::deployments::fault_driver::{DriverResult, FaultDriver};
use crate::fault::deployments::organization::{Organization, text_field};
use crate::fault::deployments::stack::Stack;
use crate::fault::deployments::upgrade::millis;
use crate::fault::deployments::work::Work;
use crate::fault::finding::Finding;
use crate::parts::api::Api;
use crate::parts::key_file::{KEY_FILE_VARIABLE, new_key, write_key_file};
use crate::parts::output::print_progress;

const DAMAGES: &str = include_str!("../../../damages.sql");
const WORK_TIMEOUT: Duration = Duration::from_secs(30);
/// How much is in the database when it is copied.
const ENDED_BEFORE: u64 = 5;

/// What was copied: first the database, and then the objects.
pub(super) struct Backup {
    dump: PathBuf,
    objects: PathBuf,
    figures: RestoreFigures,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RestoreFigures {
    dump_millis: u64,
    dump_bytes: u64,
    restore_millis: u64,
    verify_millis: u64,
    /// What `admin verify` looked at.
    objects: u64,
    sealed: u64,
    steps_at_work: usize,
    damages: usize,
    damages_found: usize,
}

/// Where `admin verify` looks.
#[derive(Clone)]
struct Copy {
    url: String,
    objects: PathBuf,
    key_file: PathBuf,
}

/// Stores some secrets, and deploys until a step has left a log and an artifact: so there is something sealed, and an object.
pub(super) async fn prepare(
    stack: &Stack,
    organization: &Organization,
    (target, mark): (&str, &str),
) -> anyhow::Result<()> {
    let api = Api::new(stack.servers[0].base_url())?;
    for name in ["first", "second", "other"] {
        let body = json!({ "name": name, "value": format!("value of {name}") });
        organization.call(&api, Method::POST, "/secrets", &body).await?;
    }
    let steps = "        run: |\n          mkdir -p out; echo kept | tee out/file\n";
    let definition = PIPELINES[PIPELINES.len() - 1].definition(target, mark);
    let definition = definition.replace("        run: |\n", steps);
    let definition = definition.replace("    steps:\n", "    artifacts: [out]\n    steps:\n");
    let body = json!({ "name": "Files", "slug": "files", "definition": definition });
    organization.call(&api, Method::POST, "/pipelines", &body).await?;
    // Some of these steps fail, which ones depends on the commit.
    for number in 0..10 {
        let body = json!({ "commitId": format!("{number:040x}"), "branch": "main" });
        let made = organization.call(&api, Method::POST, "/pipelines/files/deployments", &body).await?;
        let (path, started) = (format!("/deployments/{}", text_field(&made, "id")?), Instant::now());
        let mut deployment = Value::Null;
        while deployment["endedAt"].is_null() && started.elapsed() < WORK_TIMEOUT {
            tokio::time::sleep(Duration::from_millis(100)).await;
            deployment = organization.read(stack, &path).await?;
        }
        if deployment["status"] == "succeeded" {
            return Ok(());
        }
    }
    bail!("no deployment has left an artifact")
}

/// Copies everything in the middle of the load.
pub(super) async fn back_up<W: Work>(
    driver: &FaultDriver<'_, W>,
    stack: &mut Stack,
) -> anyhow::Result<(DriverResult, Backup)> {
    driver.load.open(driver.deployments / 2);
    let started = Instant::now();
    while driver.load.settled() < ENDED_BEFORE.min(driver.deployments / 2) || driver.work.steps_at_work() == 0
    {
        if started.elapsed() > WORK_TIMEOUT {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    driver.load.open(driver.deployments);
    let steps_at_work = driver.work.steps_at_work();
    let (dump, objects) = (stack.folder.path.join("dump"), stack.folder.path.join("restored-objects"));
    let began = Instant::now();
    let url = stack.postgres.url();
    let file = format!("--file={}", dump.display());
    stack.postgres.client("pg_dump", &["--format=custom", &file, "--dbname", &url]).await?;
    copy_folder(&stack.objects(), &objects).await?;
    let dump_millis = millis(began);
    let dump_bytes = std::fs::metadata(&dump)?.len();
    print_progress(&format!(
        "a backup of {dump_bytes} bytes in {dump_millis} ms, {steps_at_work} steps at work"
    ));
    let mut result = DriverResult::default();
    result.findings.extend(driver.recover(stack).await.map(|text| Finding::new("D10", text)));
    result.findings.extend(driver.wait_for_acceptance().await);
    driver.load.close();
    let figures = RestoreFigures { dump_millis, dump_bytes, steps_at_work, ..RestoreFigures::default() };
    Ok((result, Backup { dump, objects, figures }))
}

/// Restores the copy beside the original, verifies it, and plants one damage after the other.
pub(super) async fn check(stack: &Stack, backup: Backup) -> anyhow::Result<(RestoreFigures, Vec<Finding>)> {
    let Backup { dump, objects, mut figures } = backup;
    let began = Instant::now();
    let url = stack.postgres.create_database("restored").await?;
    let dump = dump.display().to_string();
    stack.postgres.client("pg_restore", &["--no-owner", "--exit-on-error", "--dbname", &url, &dump]).await?;
    figures.restore_millis = millis(began);
    let key_file = stack.key_file.clone().context("the stack has no key")?;
    let copy = Copy { url, objects, key_file };
    let began = Instant::now();
    let found = copy.verify(stack).await?;
    figures.verify_millis = millis(began);
    figures.objects = found["objects"].as_u64().unwrap_or_default();
    figures.sealed = found["sealed"].as_u64().unwrap_or_default();
    let mut findings = Vec::new();
    if !is_complete(&found) {
        findings.push(Finding::new("R1", format!("the restored copy is broken: {}", found["broken"])));
    }
    for damage in DAMAGES.split("-- breaks: ").skip(1) {
        let (invariant, sql) = damage.split_once('\n').context("a damage has no statement")?;
        let url = stack.postgres.copy_database("restored", "damaged").await?;
        plant(&url, sql).await?;
        let found = Copy { url, ..copy.clone() }.verify(stack).await?;
        figures.count(has(&found, invariant), sql, &mut findings);
    }
    let other_key = stack.folder.path.join("other-keys");
    write_key_file(&other_key, &[new_key("campaign")])?;
    let found = Copy { key_file: other_key, ..copy.clone() }.verify(stack).await?;
    figures.count(
        has(&found, "everything that is sealed"),
        "the master key of another installation",
        &mut findings,
    );
    let removed = copy.remove_object().await?;
    let found = copy.verify(stack).await?;
    figures.count(has(&found, "each object that"), &format!("{removed} was removed"), &mut findings);
    Ok((figures, findings))
}

impl RestoreFigures {
    fn count(&mut self, is_found: bool, damage: &str, findings: &mut Vec<Finding>) {
        self.damages += 1;
        self.damages_found += usize::from(is_found);
        if !is_found {
            findings.push(Finding::new("R2", format!("not found: {damage}")));
        }
    }
}

impl Copy {
    /// Returns what `admin verify` prints.
    async fn verify(&self, stack: &Stack) -> anyhow::Result<Value> {
        let output = Command::new(stack.daemon())
            .args(["admin", "verify"])
            .env("GREENROOM_DATABASE_URL", &self.url)
            .env("GREENROOM_OBJECTS", format!("file://{}", self.objects.display()))
            .env(KEY_FILE_VARIABLE, &self.key_file)
            .env("GREENROOM_LOG", "warn")
            .stdin(Stdio::null())
            .output()
            .await?;
        let found: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("admin verify failed: {}", String::from_utf8_lossy(&output.stderr)))?;
        if output.status.success() != is_complete(&found) {
            bail!("admin verify ended with {}, and has printed {found}", output.status);
        }
        Ok(found)
    }

    /// Removes a file to which a row refers. Returns its name.
    async fn remove_object(&self) -> anyhow::Result<String> {
        let mut connection = PgConnection::connect(&self.url).await?;
        let object: String =
            sqlx::query_scalar("select object from artifacts limit 1").fetch_one(&mut connection).await?;
        let mut folders = vec![self.objects.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.to_string_lossy().ends_with(&object) {
                    std::fs::remove_file(path)?;
                    return Ok(object);
                }
            }
        }
        bail!("there is no file {object}")
    }
}

async fn plant(url: &str, sql: &str) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    let script = format!("set session_replication_role = replica; {sql}");
    sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut connection).await?;
    Ok(connection.close().await?)
}

async fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    let status = Command::new("cp").arg("--archive").arg(from).arg(to).status().await?;
    // A file that a client is still writing, or that was removed meanwhile, belongs to no row of the dump.
    if !status.success() {
        print_progress("some objects changed while they were copied");
    }
    Ok(())
}

fn is_complete(found: &Value) -> bool {
    found["broken"].as_array().is_some_and(Vec::is_empty)
}

fn has(found: &Value, invariant: &str) -> bool {
    let broken = found["broken"].as_array().into_iter().flatten();
    broken.filter_map(|broken| broken["invariant"].as_str()).any(|broken| broken.starts_with(invariant))
}
