//! The descriptions of metrics.

use std::collections::BTreeSet;
use std::path::Path;

use greenroom_server::internals::{Kind, METRICS, Unit};

/// The names in the calls that record metrics, in all crates.
fn recorded() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders: Vec<_> =
        crates.read_dir().unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = folder.read_dir() else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = std::fs::read_to_string(path).unwrap();
                for call in ["counter!(", "gauge!(", "histogram!("] {
                    let names =
                        source.split(call).skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
                    let names = names.filter_map(|rest| rest.split('"').next());
                    found.extend(names.filter(|name| name.starts_with("greenroom_")).map(str::to_owned));
                }
            }
        }
    }
    found
}

#[test]
fn every_metric_has_a_help_text_and_a_row_in_the_documentation() {
    let described: BTreeSet<String> = METRICS.iter().map(|(_, _, name, _)| (*name).to_owned()).collect();
    assert_eq!(described.len(), METRICS.len(), "a metric is listed twice");
    assert_eq!(recorded(), described);
    let page = include_str!("../../../../../docs/operations.md");
    for (_, _, name, help) in METRICS {
        assert!(page.contains(&format!("| `{name}` |")), "docs/operations.md has no row of {name}");
        assert!(help.ends_with('.'), "{name}: {help}");
    }
}

#[test]
fn every_metric_has_its_unit_in_its_name() {
    for (kind, unit, name, help) in METRICS {
        let is_total = name.ends_with("_total");
        assert_eq!(is_total, matches!(kind, Kind::Counter), "only counters end with `_total`: {name}");
        let base = name.strip_suffix("_total").unwrap_or(name);
        let is_of_seconds = matches!(unit, Unit::Seconds);
        assert_eq!(base.ends_with("_seconds"), is_of_seconds, "{name}");
        assert_eq!(help.contains("in seconds"), is_of_seconds, "{name}: {help}");
        assert!(
            !matches!(kind, Kind::Histogram) || is_of_seconds,
            "the buckets are those of seconds: {name}"
        );
        match unit {
            Unit::Seconds => {}
            Unit::Flag => assert!(help.starts_with("Whether "), "{name}: {help}"),
            Unit::Count(noun) => assert!(base.contains(noun), "{name} does not contain `{noun}`"),
        }
    }
}
