//! `cargo xtask check-walls`: checks the dependencies in every Cargo.toml and the imports in the code against
//! the tables in docs/architecture.md. The rules are only in those tables: no crate name is hard-coded here.
//! Modules of one crate must not import each other in a circle, and no source has tests that cargo does not run.

mod dashboard;
mod law;
mod modules;
mod source;
mod unit_tests;

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use self::law::{Law, Row};
use self::modules::Modules;
use crate::output;
use crate::workspace::{Dependency, Kind, Package, Workspace};

const LAW: &str = "docs/architecture.md";

pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<()> {
    let root = &workspace.workspace_root;
    let page = fs::read_to_string(root.join(LAW)).with_context(|| format!("cannot read {LAW}"))?;
    let law = Law::parse(&page).with_context(|| format!("the tables in {LAW}"))?;

    let mut breaches = find_breaches(&law, &workspace.packages, root);
    for package in &workspace.packages {
        let manifest = fs::read_to_string(&package.manifest_path)
            .with_context(|| format!("cannot read {}", package.manifest_path.display()))?;
        if !inherits_lints(&manifest) {
            let path = relative_path(&package.manifest_path, root);
            breaches.push(format!("{path} lacks `[lints]` with `workspace = true`"));
        }
        breaches.extend(find_circles(package, root)?);
        breaches.extend(unit_tests::find_breaches(package, root)?);
    }
    breaches.extend(find_mentions(&law, root)?);
    breaches.extend(dashboard::find_breaches(&page, LAW, workspace)?);

    if breaches.is_empty() {
        output::print(format_args!("No breaches: checked {} packages.", workspace.packages.len()))?;
        return Ok(());
    }
    bail!("{} breach(es) of {LAW}:\n\n{}", breaches.len(), breaches.join("\n\n"))
}

/// Returns a message for every dependency that the tables forbid.
fn find_breaches(law: &Law, packages: &[Package], root: &Path) -> Vec<String> {
    let members: HashSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut breaches = Vec::new();
    for package in packages {
        let own = crate_name(&package.name);
        let manifest = relative_path(&package.manifest_path, root);
        let Some(row) = law.of_crate(own) else {
            breaches.push(format!("{manifest}: {own} has no row in the table `crate | may depend on`"));
            continue;
        };
        for dependency in &package.dependencies {
            let forbidden = if members.contains(dependency.name.as_str()) {
                (!row.rule.contains(crate_name(&dependency.name))).then_some(&row.row)
            } else {
                law.of_dependency(&dependency.name)
                    .filter(|found| !found.rule.allows(own, dependency.kind == Kind::Dev))
                    .map(|found| &found.row)
            };
            if let Some(row) = forbidden {
                breaches.push(describe_breach(package, dependency, &manifest, row));
            }
        }
    }
    breaches
}

/// Returns a message for every group of modules that import each other in a circle.
fn find_circles(package: &Package, root: &Path) -> anyhow::Result<Vec<String>> {
    let Some(folder) = package.manifest_path.parent().map(|folder| folder.join("src")) else {
        return Ok(Vec::new());
    };
    let circles = Modules::read(&folder)?.circles();
    let place = relative_path(&folder, root);
    Ok(circles.iter().map(|circle| format!("{place}: modules import each other\n{circle}")).collect())
}

/// Returns a message for every file that mentions a library that its folder must not mention.
fn find_mentions(law: &Law, root: &Path) -> anyhow::Result<Vec<String>> {
    let mut breaches = Vec::new();
    for ruled in law.folders() {
        for folder in &ruled.names {
            for file in source::files(&root.join(folder))? {
                let code = source::read_code(&file)?;
                let library = ruled.rule.iter().find(|name| source::mentions(&code, &name.replace('-', "_")));
                if let Some(library) = library {
                    let Row { line, text } = &ruled.row;
                    let file = relative_path(&file, root);
                    breaches.push(format!("{file} mentions {library}\n  forbidden by {LAW}:{line}: {text}"));
                }
            }
        }
    }
    Ok(breaches)
}

fn describe_breach(package: &Package, dependency: &Dependency, manifest: &str, row: &Row) -> String {
    let section = match dependency.kind {
        Kind::Normal => "dependencies",
        Kind::Build => "build-dependencies",
        Kind::Dev => "dev-dependencies",
    };
    format!(
        "{} → {}\n  {manifest} [{section}]\n  forbidden by {LAW}:{}: {}",
        package.name, dependency.name, row.line, row.text
    )
}

/// Returns the name used in the tables: `store` for the package `greenroom-store`.
fn crate_name(package: &str) -> &str {
    package.strip_prefix("greenroom-").unwrap_or(package)
}

fn relative_path(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn inherits_lints(manifest: &str) -> bool {
    let mut table = "";
    manifest.lines().map(str::trim).any(|line| {
        if line.starts_with('[') {
            table = line;
        }
        let setting: String = line.chars().filter(|letter| !letter.is_whitespace()).collect();
        (table == "[lints]" && setting == "workspace=true")
            || (table.is_empty() && setting == "lints.workspace=true")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
| crate | may depend on |
|---|---|
| domain | – |
| store | domain |
| server | store, domain |

| dependency | only in |
|---|---|
| sqlx | store, tests of server |
| tokio | all but domain |

| folder | must not mention |
|---|---|
| app | axum |
";

    /// `edges` are pairs of dependency and kind, in cargo's spelling.
    fn package(name: &str, edges: &[(&str, Option<&str>)]) -> Package {
        let dependencies: Vec<_> =
            edges.iter().map(|(name, kind)| serde_json::json!({"name": name, "kind": kind})).collect();
        let manifest = format!("/w/crates/{}/Cargo.toml", crate_name(name));
        serde_json::from_value(
            serde_json::json!({
                "name": name, "version": "0.1.0", "manifest_path": manifest, "dependencies": dependencies, "targets": []
            }),
        )
        .unwrap()
    }

    fn breaches(packages: &[Package]) -> Vec<String> {
        find_breaches(&Law::parse(PAGE).unwrap(), packages, Path::new("/w"))
    }

    #[test]
    fn what_the_tables_allow_passes() {
        let packages = [
            package("greenroom-domain", &[("serde", None)]),
            package(
                "greenroom-store",
                &[("greenroom-domain", None), ("sqlx", None), ("tokio", Some("build"))],
            ),
            package("greenroom-server", &[("greenroom-store", None), ("sqlx", Some("dev")), ("tokio", None)]),
        ];
        assert_eq!(breaches(&packages), Vec::<String>::new());
    }

    fn only(name: &str, edge: &str, kind: Option<&str>) -> Vec<String> {
        let edges = |other: &str| if other == name { vec![(edge, kind)] } else { vec![] };
        let packages = ["greenroom-domain", "greenroom-store", "greenroom-server"];
        breaches(&packages.map(|other| package(other, &edges(other))))
    }

    #[test]
    fn a_breach_names_the_edge_the_manifest_and_the_row() {
        assert_eq!(
            only("greenroom-domain", "greenroom-store", None),
            ["greenroom-domain → greenroom-store\n  crates/domain/Cargo.toml [dependencies]\n  \
              forbidden by docs/architecture.md:3: | domain | – |"]
        );
        assert_eq!(
            only("greenroom-domain", "tokio", Some("dev")),
            ["greenroom-domain → tokio\n  crates/domain/Cargo.toml [dev-dependencies]\n  \
              forbidden by docs/architecture.md:10: | tokio | all but domain |"]
        );
    }

    #[test]
    fn dev_and_build_dependencies_are_checked_too() {
        for kind in [None, Some("dev"), Some("build")] {
            assert_eq!(only("greenroom-store", "greenroom-server", kind).len(), 1, "{kind:?}");
        }
    }

    #[test]
    fn allowed_in_tests_is_not_allowed_in_the_product() {
        for (kind, count) in [(Some("dev"), 0), (Some("build"), 1), (None, 1)] {
            assert_eq!(only("greenroom-server", "sqlx", kind).len(), count, "{kind:?}");
        }
    }

    #[test]
    fn a_package_without_a_row_fails() {
        let found = breaches(&[package("greenroom-cellar", &[])]);
        assert!(found[0].contains("cellar has no row"), "{found:?}");
    }

    /// Creates a folder with these files, and removes it when it is dropped.
    struct Tree(std::path::PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("check-walls-{name}-{}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _gone = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_folder_must_not_mention_the_libraries_in_its_row() {
        let clean =
            "// like axum\nuse bytes::Bytes;\n\n#[cfg(test)]\nmod tests {\n    use axum::Router;\n}\n";
        let dirty = "fn f() -> axum::body::Body {}\n";
        let tree = Tree::new(
            "mentions",
            &[
                ("app/clean.rs", clean),
                ("app/below/dirty.rs", dirty),
                ("app/notes.txt", dirty),
                ("http/router.rs", dirty),
            ],
        );
        let found = find_mentions(&Law::parse(PAGE).unwrap(), &tree.0).unwrap();
        assert_eq!(
            found,
            ["app/below/dirty.rs mentions axum\n  forbidden by docs/architecture.md:14: | app | axum |"]
        );
    }

    #[test]
    fn a_row_for_a_folder_that_does_not_exist_fails() {
        let tree = Tree::new("missing", &[("http/router.rs", "")]);
        assert!(find_mentions(&Law::parse(PAGE).unwrap(), &tree.0).is_err());
    }

    #[test]
    fn modules_of_a_package_must_not_import_each_other() {
        let tree = Tree::new(
            "circles",
            &[
                ("src/lib.rs", "pub mod a;\npub mod b;\n"),
                ("src/a/mod.rs", "use crate::b::B;\n"),
                ("src/b.rs", "use crate::a::A;\n"),
                ("src/main.rs", "use crate::b::B;\n"),
            ],
        );
        let package = Package { manifest_path: tree.0.join("Cargo.toml"), ..package("greenroom-a", &[]) };
        let found = find_circles(&package, &tree.0).unwrap();
        assert_eq!(found, ["src: modules import each other\n  a → b\n  b → a"]);
    }

    #[test]
    fn tests_that_cargo_does_not_run_are_rejected() {
        let test = "#[test]\nfn a() {}\n";
        let tree = Tree::new(
            "unit-tests",
            &[
                ("src/lib.rs", "pub mod a;\n"),
                ("src/a/mod.rs", test),
                ("src/main.rs", "// #[test]\nfn main() {}\n"),
                ("tests/a.rs", test),
                ("tests/b.rs", "use greenroom_b::internals::B;\nuse greenroom_a::internals::A;\n"),
            ],
        );
        let target = |name: &str, kind: &str, file: &str, test: bool| {
            serde_json::from_value(serde_json::json!({
                "name": name, "kind": [kind], "src_path": tree.0.join(file), "test": test,
            }))
            .unwrap()
        };
        let with_tests_in_library = |test: bool| Package {
            manifest_path: tree.0.join("Cargo.toml"),
            targets: vec![
                target("greenroom_a", "lib", "src/lib.rs", test),
                target("a", "bin", "src/main.rs", false),
                target("b", "test", "tests/a.rs", false),
            ],
            ..package("greenroom-a", &[])
        };
        let other = "tests/b.rs uses greenroom_b::internals, which is for the tests of that crate";
        let found = unit_tests::find_breaches(&with_tests_in_library(false), &tree.0).unwrap();
        assert!(found[0].starts_with("src/a/mod.rs has tests, and cargo does not run them\n"), "{found:?}");
        assert_eq!(found[1..], [other]);
        assert_eq!(unit_tests::find_breaches(&with_tests_in_library(true), &tree.0).unwrap(), [other]);
    }

    #[test]
    fn inherits_lints_accepts_both_spellings_in_the_right_table() {
        assert!(inherits_lints("[package]\nname = \"x\"\n\n[lints]\nworkspace = true\n"));
        assert!(inherits_lints("lints.workspace = true\n[package]\n"));
        assert!(!inherits_lints("[package]\nname = \"x\"\n"));
        assert!(!inherits_lints("[lints]\n\n[dependencies.serde]\nworkspace = true\n"));
        assert!(!inherits_lints("[lints]\n# workspace = true\n"));
    }
}
