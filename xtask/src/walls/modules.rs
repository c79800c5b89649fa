//! Imports between the modules of one crate, and circles among them. An import is a `use` of a module of the
//! crate or of an item in it, or a path in the code that begins with `crate::`. A re-export (`pub use`) is no
//! import: what is imported through it counts as imported from the module that defines it. Inline tests may
//! import what they like.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::source;

/// A re-export can lead to another one, but not endlessly.
const MAX_REEXPORTS: usize = 8;

/// Modules by their path below the crate's root, such as `app::session`; the root is empty.
pub(super) struct Modules {
    imports: BTreeMap<String, BTreeSet<String>>,
}

/// One path of a `use` declaration or of an expression.
#[derive(Debug, PartialEq, Eq)]
struct Import {
    segments: Vec<String>,
    /// The name under which it is re-exported, if it is.
    reexported_as: Option<String>,
}

impl Modules {
    /// Reads the modules of the crate whose sources are in the folder.
    pub(super) fn read(folder: &Path) -> anyhow::Result<Self> {
        let files = source::files(folder)?;
        let has_library = files.iter().any(|file| *file == folder.join("lib.rs"));
        let mut sources = BTreeMap::new();
        for file in files {
            let relative = file.strip_prefix(folder)?;
            // A program beside a library is another crate.
            let is_program = relative.starts_with("bin") || (has_library && relative == Path::new("main.rs"));
            if !is_program {
                sources.insert(module_path(relative), source::read_code(&file)?);
            }
        }
        Ok(Self::new(&sources))
    }

    /// `sources` has the code of each module.
    fn new(sources: &BTreeMap<String, String>) -> Self {
        let parsed: BTreeMap<&str, Vec<Import>> =
            sources.iter().map(|(module, code)| (module.as_str(), parse(code))).collect();
        let mut reexports = HashMap::new();
        for (module, imports) in &parsed {
            for import in imports {
                if let (Some(name), Some(path)) =
                    (&import.reexported_as, absolute(module, &import.segments, sources))
                {
                    reexports.insert(join(module, name), path);
                }
            }
        }
        let imports = parsed.iter().map(|(module, imports)| {
            let imported = imports.iter().filter(|import| import.reexported_as.is_none());
            let imported = imported.filter_map(|import| absolute(module, &import.segments, sources));
            let imported = imported.map(|path| defining_module(path, &reexports, sources));
            let others: BTreeSet<String> = imported.filter(|other| other != module).collect();
            ((*module).to_owned(), others)
        });
        Self { imports: imports.collect() }
    }

    /// Returns the groups of modules that import each other, directly or through others of the group. Each
    /// group is a text with one line for every import within it.
    pub(super) fn circles(&self) -> Vec<String> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.imports.keys().map(|module| (module.as_str(), self.reachable(module))).collect();
        let leads_to = |from: &str, to: &str| reached.get(from).is_some_and(|others| others.contains(to));
        let mut circles = Vec::new();
        let mut seen = BTreeSet::new();
        for (module, others) in &reached {
            let circle: BTreeSet<&str> =
                others.iter().copied().filter(|other| leads_to(other, module)).collect();
            if circle.len() > 1 && !seen.contains(module) {
                circles.push(self.describe(&circle));
                seen.extend(circle);
            }
        }
        circles
    }

    /// Returns the modules that a module imports, directly or through others.
    fn reachable<'a>(&'a self, module: &'a str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![module];
        while let Some(module) = open.pop() {
            let imports = self.imports.get(module).into_iter().flatten();
            open.extend(imports.map(String::as_str).filter(|other| reached.insert(*other)));
        }
        reached
    }

    fn describe(&self, circle: &BTreeSet<&str>) -> String {
        let name = |module: &str| if module.is_empty() { "the root".to_owned() } else { module.to_owned() };
        let mut edges = Vec::new();
        for (module, imports) in &self.imports {
            if circle.contains(module.as_str()) {
                let within = imports.iter().filter(|other| circle.contains(other.as_str()));
                edges.extend(within.map(|other| format!("  {} → {}", name(module), name(other))));
            }
        }
        edges.join("\n")
    }
}

/// Returns the path of the module in a file, which is relative to the crate's sources.
fn module_path(file: &Path) -> String {
    let mut names: Vec<String> =
        file.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let is_file_of_folder = names.last().is_some_and(|name| name == "mod");
    let is_root = names == ["lib"] || names == ["main"];
    if is_file_of_folder || is_root {
        names.pop();
    }
    names.join("::")
}

fn join(module: &str, name: &str) -> String {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

/// Returns a path of this crate from its root on; `None` for a path of another crate.
fn absolute(module: &str, segments: &[String], sources: &BTreeMap<String, String>) -> Option<Vec<String>> {
    let mut base: Vec<String> =
        module.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let mut rest = segments;
    match rest.first().map(String::as_str)? {
        "crate" => {
            base.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        // A path can begin with a module below this one.
        child if sources.contains_key(&join(module, child)) => {}
        _ => return None,
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// Follows re-exports, and returns the longest part of the path that is a module.
fn defining_module(
    mut path: Vec<String>,
    reexports: &HashMap<String, Vec<String>>,
    sources: &BTreeMap<String, String>,
) -> String {
    for _ in 0..MAX_REEXPORTS {
        let followed = (1..=path.len()).rev().find_map(|length| {
            let target = reexports.get(&path[..length].join("::"))?;
            Some(target.iter().chain(&path[length..]).cloned().collect::<Vec<_>>())
        });
        match followed {
            Some(followed) if followed != path => path = followed,
            _ => break,
        }
    }
    let mut prefixes = (1..=path.len()).rev().map(|length| path[..length].join("::"));
    prefixes.find(|prefix| sources.contains_key(prefix)).unwrap_or_default()
}

fn parse(code: &str) -> Vec<Import> {
    let mut imports = Vec::new();
    let mut lines = code.lines();
    while let Some(line) = lines.next() {
        let Some((is_public, tree)) = use_declaration(line.trim()) else {
            imports.extend(paths_in(line));
            continue;
        };
        let mut tree = tree.to_owned();
        while !tree.contains(';') {
            let Some(more) = lines.next() else { break };
            tree.push_str(more.trim());
        }
        let tree = tree.split(';').next().unwrap_or_default();
        expand("", tree, is_public, &mut imports);
    }
    imports
}

/// Returns what follows `use`, and whether it is a re-export.
fn use_declaration(line: &str) -> Option<(bool, &str)> {
    if let Some(tree) = line.strip_prefix("use ") {
        return Some((false, tree));
    }
    let (visibility, tree) = line.split_once("use ")?;
    let visibility = visibility.trim_end();
    let is_visibility = visibility == "pub" || (visibility.starts_with("pub(") && visibility.ends_with(')'));
    is_visibility.then_some((true, tree))
}

/// Adds every path of a tree such as `crate::{a::B, c::{self, D as E}}`.
fn expand(prefix: &str, tree: &str, is_public: bool, imports: &mut Vec<Import>) {
    let tree = tree.trim();
    if let Some((before, inner)) = tree.split_once('{') {
        let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
        let prefix = format!("{prefix}{}", before.trim());
        for part in split_at_commas(inner) {
            expand(&prefix, part, is_public, imports);
        }
        return;
    }
    let (path, alias) =
        tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias.trim())));
    let path = format!("{prefix}{path}");
    let mut segments: Vec<String> =
        path.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect();
    if segments.len() > 1 && segments.last().is_some_and(|name| name == "self") {
        segments.pop();
    }
    let Some(last) = segments.last() else { return };
    // The names behind a star are not known here, so a public one counts as an import as well.
    let reexported_as = (is_public && last != "*").then(|| alias.unwrap_or(last).to_owned());
    imports.push(Import { segments, reexported_as });
}

/// Splits at the commas that are not within braces.
fn split_at_commas(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(|letter: char| {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts.filter(|part| !part.trim().is_empty()).collect()
}

/// Returns the paths in a line of code that begin with `crate::`.
fn paths_in(line: &str) -> Vec<Import> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let begins = line.match_indices("crate::").filter(|(at, _)| {
        // `$crate::` in a macro is no path of this module.
        let before = line[..*at].chars().next_back();
        before.is_none_or(|before| !is_word(before) && before != '$' && before != ':')
    });
    let paths = begins.map(|(at, _)| {
        let end =
            line[at..].find(|letter: char| !is_word(letter) && letter != ':').unwrap_or(line.len() - at);
        let segments = line[at..at + end].split("::").filter(|name| !name.is_empty());
        Import { segments: segments.map(str::to_owned).collect(), reexported_as: None }
    });
    paths.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(sources: &[(&str, &str)]) -> Vec<String> {
        let sources =
            sources.iter().map(|(module, code)| ((*module).to_owned(), source::code(code))).collect();
        Modules::new(&sources).circles()
    }

    #[test]
    fn a_circle_is_reported_with_its_imports() {
        let found = circles(&[
            ("", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            ("a", "use crate::b::B;\nuse crate::d::D;\n"),
            ("b", "use crate::c::{self, C};\n"),
            ("c", "use crate::a;\n"),
            ("d", "use std::fmt;\n"),
        ]);
        assert_eq!(found, ["  a → b\n  b → c\n  c → a"]);
    }

    #[test]
    fn imports_in_one_direction_are_no_circle() {
        let found = circles(&[
            ("", "use self::a::A;\n"),
            ("a", "use super::b::B;\n"),
            ("b", "use crate::c;\n"),
            ("c", "use serde::a;\n"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn a_parent_and_its_child_can_be_a_circle() {
        let found = circles(&[
            ("", ""),
            ("a", "mod b;\nuse self::b::B;\n"),
            ("a::b", "use super::{A, Other};\n"),
            ("c", "mod d;\nuse d::D;\n"),
            ("c::d", "use crate::c::C;\n"),
        ]);
        assert_eq!(found, ["  a → a::b\n  a::b → a", "  c → c::d\n  c::d → c"]);
    }

    #[test]
    fn an_import_through_a_re_export_is_one_of_the_defining_module() {
        let facade = "pub use crate::a::A;\npub(crate) use self::b::B as Renamed;\npub struct Root;\n";
        let found = circles(&[
            ("", facade),
            ("a", "use crate::Renamed;\n"),
            ("b", "use crate::c::C;\n"),
            ("c", "use crate::d::D;\n"),
            ("d", "pub use crate::Root;\n"),
        ]);
        assert_eq!(found, Vec::<String>::new());
        let found = circles(&[("", facade), ("a", "use crate::Renamed;\n"), ("b", "use crate::A;\n")]);
        assert_eq!(found, ["  a → b\n  b → a"]);
    }

    #[test]
    fn paths_in_expressions_count_and_tests_do_not() {
        let found = circles(&[
            ("a", "fn f() {\n    let x = crate::b::g(crate::c::h());\n}\n"),
            ("b", "// use crate::a;\nconst TEXT: &str = \"use crate::a;\";\n"),
            ("c", "use crate::{\n    a::{f, F},\n    d,\n};\n"),
            ("d", "#[cfg(test)]\nmod tests {\n    use crate::a::f;\n}\n"),
            ("e", "macro_rules! m { () => { $crate::f::g() } }\n"),
            ("f", "use crate::e;\n"),
        ]);
        assert_eq!(found, ["  a → c\n  c → a"]);
    }

    #[test]
    fn a_module_has_the_name_of_its_file_or_folder() {
        for (file, module) in [
            ("lib.rs", ""),
            ("main.rs", ""),
            ("a.rs", "a"),
            ("a/mod.rs", "a"),
            ("a/b.rs", "a::b"),
            ("a/main.rs", "a::main"),
        ] {
            assert_eq!(module_path(Path::new(file)), module, "{file}");
        }
    }
}
