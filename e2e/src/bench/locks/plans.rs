//! PostgreSQL's work for a claim and a release: `auto_explain` logs the plan of every statement with the
//! buffers that it touched, and this module reads the log. So the statements are the product's own.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Context;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, PgConnection};

use super::past::PastFixture;

const SETTINGS: [(&str, &str); 6] = [
    ("session_preload_libraries", "auto_explain"),
    ("auto_explain.log_min_duration", "0"),
    ("auto_explain.log_analyze", "on"),
    ("auto_explain.log_buffers", "on"),
    ("auto_explain.log_format", "json"),
    // The statements of foreign key checks are nested.
    ("auto_explain.log_nested_statements", "on"),
];
/// After this many pairs, every statement has been prepared, and PostgreSQL has chosen its plan.
const WARM_UP: usize = 100;
const PAIRS: usize = 100;

/// The cost of one statement, over all pairs.
#[derive(Debug, Default)]
pub(crate) struct Cost {
    runs: usize,
    buffers: f64,
    dirtied: f64,
    /// Each observed plan in one line, and how often it was used.
    plans: BTreeMap<String, usize>,
}

/// The costs of all statements, by their text.
pub(crate) type Costs = BTreeMap<String, Cost>;

impl Cost {
    /// Returns the buffers per pair of claim and release.
    pub(crate) fn buffers_of(costs: &Costs) -> f64 {
        costs.values().map(|cost| cost.buffers).sum::<f64>() / PAIRS as f64
    }

    fn usual_plan(&self) -> &str {
        self.plans.iter().max_by_key(|(_, times)| **times).map_or("", |(plan, _)| plan)
    }

    fn figures(&self) -> Value {
        let each = |sum: f64| sum / self.runs as f64;
        json!({
            "timesPerPair": self.runs as f64 / PAIRS as f64,
            "buffers": each(self.buffers),
            "dirtied": each(self.dirtied),
            "plan": self.usual_plan(),
        })
    }
}

/// Claims and releases on a new server whose statements are logged.
pub(crate) async fn watch(past_fixture: PastFixture) -> anyhow::Result<(PastFixture, Costs)> {
    let mut connection = past_fixture.stack.connect().await?;
    let database = past_fixture.stack.database().to_owned();
    for (name, value) in SETTINGS {
        set(&mut connection, &database, &format!("set {name} = '{value}'")).await?;
    }
    let past_fixture = past_fixture.with_new_server().await?;
    let log = past_fixture.stack.log("postgres");
    let mut client = past_fixture.fixture.client(0).await?;
    let mut before = 0;
    for number in 0..WARM_UP + PAIRS {
        if number == WARM_UP {
            before = fs::metadata(&log)?.len() as usize;
        }
        client.claim().await?;
        client.release().await?;
    }
    set(&mut connection, &database, "reset all").await?;
    let text = fs::read(&log).context("PostgreSQL's log can't be read")?;
    let text = String::from_utf8_lossy(text.get(before..).unwrap_or_default());
    Ok((past_fixture, read(&text, &database)))
}

async fn set(connection: &mut PgConnection, database: &str, setting: &str) -> anyhow::Result<()> {
    sqlx::query(AssertSqlSafe(format!("alter database {database} {setting}"))).execute(connection).await?;
    Ok(())
}

/// Returns the statements whose plans differ between two databases, or that were run in only one of them.
pub(crate) fn differences(young: &Costs, old: &Costs) -> Vec<Value> {
    let plan = |costs: &Costs, text: &String| costs.get(text).map(|cost| cost.usual_plan().to_owned());
    let texts: std::collections::BTreeSet<&String> = young.keys().chain(old.keys()).collect();
    let differing = texts.into_iter().filter(|text| plan(young, text) != plan(old, text));
    differing
        .map(|text| json!({ "statement": text, "withoutPast": plan(young, text), "withPast": plan(old, text) }))
        .collect()
}

pub(crate) fn side_by_side(young: &Costs, old: &Costs) -> Vec<Value> {
    let rows = young.iter().filter_map(|(text, cost)| {
        let start: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(100).collect();
        Some(json!({ "statement": start, "withoutPast": cost.figures(), "withPast": old.get(text)?.figures() }))
    });
    rows.collect()
}

fn read(log: &str, database: &str) -> Costs {
    let mut costs = Costs::new();
    let mark = format!("@{database} LOG:  duration:");
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.contains(&mark) || !line.ends_with("plan:") {
            continue;
        }
        // Every further line of a log entry begins with a tab.
        let mut entry = String::new();
        while let Some(more) = lines.next_if(|line| line.starts_with('\t')) {
            entry.push_str(more);
        }
        let Ok(entry) = serde_json::from_str::<Value>(&entry) else { continue };
        let text = entry["Query Text"].as_str().unwrap_or_default();
        if !belongs_to_locks(text) {
            continue;
        }
        let cost = costs.entry(text.to_owned()).or_default();
        cost.runs += 1;
        cost.buffers += blocks(&entry["Plan"], &["Shared Hit Blocks", "Shared Read Blocks"]);
        cost.dirtied += blocks(&entry["Plan"], &["Shared Dirtied Blocks"]);
        *cost.plans.entry(shape(&entry["Plan"])).or_default() += 1;
    }
    costs
}

/// Excludes what the sequencer, the feed and the sweeper do concurrently, because that depends on time.
fn belongs_to_locks(text: &str) -> bool {
    (text.contains("sessions") || text.contains("environments")) && !text.contains("sweep_at <=")
}

/// Returns the blocks of the whole plan. A node's count includes its children's, but the count at the top
/// omits the parts of a WITH that are not read, which run last. So each node's own count is summed. A scan of
/// such a part touches nothing itself.
fn blocks(plan: &Value, counts: &[&str]) -> f64 {
    let count = |plan: &Value| counts.iter().filter_map(|name| plan[*name].as_f64()).sum::<f64>();
    let parts = || plan["Plans"].as_array().into_iter().flatten();
    let is_scan_of_part = plan["Node Type"] == "CTE Scan";
    let own = if is_scan_of_part { 0.0 } else { count(plan) - parts().map(count).sum::<f64>() };
    own.max(0.0) + parts().map(|part| blocks(part, counts)).sum::<f64>()
}

/// Returns the plan in one line: what is done, on what, by which index.
fn shape(plan: &Value) -> String {
    let field = |name: &str| plan[name].as_str();
    let mut text = field("Node Type").unwrap_or_default().to_owned();
    for name in ["Operation", "Relation Name", "Index Name", "Join Type"] {
        if let Some(value) = field(name) {
            text.push(' ');
            text.push_str(value);
        }
    }
    let parts: Vec<String> = plan["Plans"].as_array().into_iter().flatten().map(shape).collect();
    if parts.is_empty() { text } else { format!("{text} ({})", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_read_from_the_log() {
        let log = "2026-01-01 00:00:00.000 UTC [7] greenroom@young LOG:  duration: 0.1 ms  plan:\n\
                   \t{\n\t  \"Query Text\": \"select from sessions\",\n\t  \"Plan\": {\"Node Type\": \"Index Scan\", \
                   \"Index Name\": \"sessions_pkey\", \"Shared Hit Blocks\": 4, \"Shared Read Blocks\": 1}\n\t}\n\
                   2026-01-01 00:00:00.000 UTC [8] greenroom@old LOG:  duration: 0.1 ms  plan:\n\t{}\n";
        let costs = read(log, "young");
        let cost = &costs["select from sessions"];
        assert_eq!((cost.runs, cost.buffers, cost.usual_plan()), (1, 5.0, "Index Scan sessions_pkey"));
        assert!(read(log, "other").is_empty());
    }

    #[test]
    fn buffers_of_parts_that_run_last_are_counted_once() {
        let update = json!({ "Node Type": "ModifyTable", "Shared Hit Blocks": 10,
            "Plans": [{ "Node Type": "Index Scan", "Shared Hit Blocks": 6 }] });
        let insert = json!({ "Node Type": "ModifyTable", "Shared Hit Blocks": 5,
            "Plans": [{ "Node Type": "CTE Scan", "Shared Hit Blocks": 0 }] });
        let plan = json!({ "Node Type": "CTE Scan", "Shared Hit Blocks": 10, "Plans": [update, insert] });
        assert_eq!(blocks(&plan, &["Shared Hit Blocks"]), 15.0);
    }
}
