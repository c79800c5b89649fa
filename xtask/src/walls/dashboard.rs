//! The walls of the dashboard: which folder of `dashboard/src` may import which, and that a feature imports of
//! another one its `index` only. The rules are in a table of docs/architecture.md.

use std::fs;

use anyhow::{Context, bail};

use super::law::{self, Ruled};
use crate::workspace::Workspace;

const SOURCES: &str = "dashboard/src";
/// Files in no folder, such as `main.tsx`, belong to this one.
const ROOT_FOLDER: &str = "app";
const FEATURES: &str = "features";
/// What stands before the name of an imported file.
const MARKERS: [&str; 3] = [" from \"", "import(\"", "import \""];

type Rows = Vec<Ruled<Vec<String>>>;

/// Returns a message for every import that the table forbids.
pub(super) fn find_breaches(
    page: &str,
    law_path: &str,
    workspace: &Workspace,
) -> anyhow::Result<Vec<String>> {
    let rows: Rows = law::table(page, "dashboard folder", "may import", law::names)?;
    let mut breaches = Vec::new();
    for path in workspace.files(&[SOURCES])? {
        if !path.ends_with(".ts") && !path.ends_with(".tsx") {
            continue;
        }
        let code = fs::read_to_string(workspace.workspace_root.join(&path))
            .with_context(|| format!("cannot read {path}"))?;
        let Some(file) = path.strip_prefix(SOURCES).map(|rest| rest.trim_start_matches('/')) else {
            bail!("{path} is not in {SOURCES}");
        };
        breaches.extend(forbidden(&rows, file, &code).map(|import| {
            format!("{path} imports {import}\n  forbidden by the table `dashboard folder | may import` in {law_path}")
        }));
    }
    Ok(breaches)
}

/// Returns the imports of a file that the table forbids. `file` is relative to the sources.
fn forbidden<'a>(rows: &'a Rows, file: &'a str, code: &'a str) -> impl Iterator<Item = &'a str> {
    imports(code).filter(move |import| !is_allowed(rows, file, import))
}

/// Returns what a file imports: relative to the sources, without `@/`, or upwards with `../`.
fn imports(code: &str) -> impl Iterator<Item = &str> {
    let literals = MARKERS.iter().flat_map(move |marker| code.split(*marker).skip(1));
    literals.filter_map(|rest| rest.split('"').next()).filter_map(|literal| {
        literal.strip_prefix("@/").or_else(|| literal.starts_with("../").then_some(literal))
    })
}

fn is_allowed(rows: &Rows, file: &str, import: &str) -> bool {
    let from: Vec<&str> = file.split('/').collect();
    let to: Vec<&str> = import.split('/').collect();
    let folder = if from.len() > 1 { from[0] } else { ROOT_FOLDER };
    match to[..] {
        // An import upwards would pass by the table.
        ["..", ..] => false,
        [FEATURES, feature, ref rest @ ..] if folder == FEATURES => rest.is_empty() || from[1] == feature,
        [FEATURES, _, _, ..] => false,
        [target, ..] if target == folder => true,
        [target, ..] => rows
            .iter()
            .filter(|row| row.names.iter().any(|name| name == folder))
            .any(|row| row.rule.iter().any(|name| name == target)),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
| dashboard folder | may import |
|---|---|
| app | features, ui, lib |
| features | ui, lib |
| ui | lib |
| lib | – |
";

    fn check(file: &str, import: &str) -> bool {
        let rows: Rows = law::table(PAGE, "dashboard folder", "may import", law::names).unwrap();
        let code = format!("import {{ a }} from \"react\";\nimport {{ b }} from \"{import}\";\n");
        forbidden(&rows, file, &code).next().is_none()
    }

    #[test]
    fn what_the_table_allows_passes() {
        assert!(check("ui/Badge.tsx", "@/lib/classes"));
        assert!(check("ui/Badge.tsx", "@/ui/state"));
        assert!(check("ui/Badge.tsx", "./state"));
        assert!(check("main.tsx", "@/ui/Badge"));
        assert!(check("features/token/Page.tsx", "@/features/problem"));
        assert!(check("features/token/Page.tsx", "@/features/token/form"));
        assert!(check("app/router.tsx", "@/features/token"));
    }

    #[test]
    fn what_it_does_not_allow_is_a_breach() {
        assert!(!check("lib/time.ts", "@/ui/Badge"));
        assert!(!check("ui/Badge.tsx", "@/features/token"));
        assert!(!check("ui/Badge.tsx", "../features/token"));
        assert!(!check("unknown/file.ts", "@/lib/time"));
    }

    #[test]
    fn a_feature_is_imported_by_its_index_only() {
        assert!(!check("features/token/Page.tsx", "@/features/problem/describe"));
        assert!(!check("app/router.tsx", "@/features/token/form"));
    }
}
