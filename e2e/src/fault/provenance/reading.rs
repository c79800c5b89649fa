//! Everything that a job gets: inputs, caches and variables, searched for marks.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use crate::fault::provenance::archive::{files, is_below};
use crate::fault::provenance::mark::{self, Mark};
use crate::fault::provenance::record::{Arrival, Record};
use crate::fault::provenance::runner_api::Job;

/// Reads all that a job gets, and records the marks in it. As the product's runner does, it leaves out what is not below the paths
/// that the server names. Returns the keys of the caches that exist.
pub(super) async fn read(job: &Job<'_>, record: &Record) -> anyhow::Result<HashSet<String>> {
    let mut marks = BTreeSet::new();
    for input in list(&job.given["inputs"]) {
        let id = input["artifactId"].as_str().unwrap_or_default();
        if let Some(archive) = job.get(&format!("/artifacts/{id}")).await? {
            marks.extend(unpack(&archive, &input["paths"]));
        }
    }
    let mut found = HashSet::new();
    for cache in list(&job.given["caches"]) {
        let key = cache["key"].as_str().unwrap_or_default();
        if let Some(archive) = job.get(&format!("/caches/{key}")).await? {
            marks.extend(unpack(&archive, &cache["paths"]));
            found.insert(key.to_owned());
        }
    }
    for step in list(&job.given["steps"]) {
        marks.extend(mark::find(step["variables"].to_string().as_bytes()));
    }
    let mut recorded = record.lock();
    recorded.read_jobs += 1;
    recorded.arrivals.extend(marks.into_iter().map(|mark| Arrival {
        deployment: job.deployment.clone(),
        stage: job.stage.clone(),
        mark,
    }));
    Ok(found)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn unpack(archive: &[u8], paths: &Value) -> BTreeSet<Mark> {
    let paths: Vec<String> = list(paths).iter().filter_map(|path| path.as_str().map(str::to_owned)).collect();
    let unpacked = files(archive).into_iter().filter(|(path, _)| is_below(&paths, path));
    unpacked.flat_map(|(_, content)| mark::find(content)).collect()
}
