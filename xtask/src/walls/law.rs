//! Parses the tables of docs/architecture.md from Markdown. In a cell, names are separated by commas,
//! text in parentheses is a remark, and `–` means none. The second table also supports `tests of <crate>`
//! (only as a dev-dependency), `all but <crates>`, and a dependency's name that ends in `*`. The third table
//! has folders, with the libraries that their code must not mention.

use std::collections::HashSet;

use anyhow::{bail, ensure};

#[derive(Debug)]
pub(super) struct Law {
    crates: Vec<Ruled<Neighbours>>,
    dependencies: Vec<Ruled<Places>>,
    folders: Vec<Ruled<Vec<String>>>,
}

/// A row with the names in its first cell, to which its rule applies.
#[derive(Debug)]
pub(super) struct Ruled<Rule> {
    pub(super) names: Vec<String>,
    pub(super) rule: Rule,
    pub(super) row: Row,
}

/// The source line of a rule, for messages.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) text: String,
}

/// The crates that a crate may depend on.
#[derive(Debug)]
pub(super) struct Neighbours(Vec<String>);

/// The crates that may depend on an external package.
#[derive(Debug)]
pub(super) enum Places {
    Only { everywhere: Vec<String>, tests: Vec<String> },
    AllBut(Vec<String>),
}

impl Neighbours {
    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|other| other == name)
    }
}

impl Places {
    pub(super) fn allows(&self, name: &str, for_tests: bool) -> bool {
        let contains = |names: &[String]| names.iter().any(|other| other == name);
        match self {
            Places::Only { everywhere, tests } => contains(everywhere) || (for_tests && contains(tests)),
            Places::AllBut(names) => !contains(names),
        }
    }

    fn parse(cell: &str) -> Self {
        if let Some(rest) = cell.strip_prefix("all but ") {
            return Places::AllBut(names(rest));
        }
        let (tests, everywhere): (Vec<_>, Vec<_>) =
            names(cell).into_iter().partition(|name| name.starts_with(TESTS_OF));
        let tests = tests.iter().map(|name| name.trim_start_matches(TESTS_OF).to_owned()).collect();
        Places::Only { everywhere, tests }
    }

    fn named(&self) -> impl Iterator<Item = &String> {
        let (first, second) = match self {
            Places::Only { everywhere, tests } => (everywhere.as_slice(), tests.as_slice()),
            Places::AllBut(names) => (names.as_slice(), [].as_slice()),
        };
        first.iter().chain(second)
    }
}

const TESTS_OF: &str = "tests of ";

impl Law {
    pub(super) fn parse(page: &str) -> anyhow::Result<Self> {
        let law = Law {
            crates: table(page, "crate", "may depend on", |cell| Neighbours(names(cell)))?,
            dependencies: table(page, "dependency", "only in", Places::parse)?,
            folders: table(page, "folder", "must not mention", names)?,
        };
        law.check_names()?;
        Ok(law)
    }

    pub(super) fn of_crate(&self, name: &str) -> Option<&Ruled<Neighbours>> {
        self.crates.iter().find(|ruled| ruled.names.iter().any(|other| other == name))
    }

    pub(super) fn of_dependency(&self, name: &str) -> Option<&Ruled<Places>> {
        let matches = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => pattern == name,
        };
        self.dependencies.iter().find(|ruled| ruled.names.iter().any(matches))
    }

    /// Returns the folders, each with the libraries that its code must not mention.
    pub(super) fn folders(&self) -> &[Ruled<Vec<String>>] {
        &self.folders
    }

    /// Rejects unknown crate names: a misspelt one would silently have no effect.
    fn check_names(&self) -> anyhow::Result<()> {
        let known: HashSet<&String> = self.crates.iter().flat_map(|ruled| &ruled.names).collect();
        let check = |row: &Row, name: &String| {
            ensure!(known.contains(name), "line {}: `{name}` has no row: {}", row.line, row.text);
            Ok(())
        };
        for ruled in &self.crates {
            ruled.rule.0.iter().try_for_each(|name| check(&ruled.row, name))?;
        }
        for ruled in &self.dependencies {
            ruled.rule.named().try_for_each(|name| check(&ruled.row, name))?;
        }
        Ok(())
    }
}

/// Returns the rows of the one table with this header.
pub(super) fn table<Rule>(
    page: &str,
    left: &str,
    right: &str,
    rule: impl Fn(&str) -> Rule,
) -> anyhow::Result<Vec<Ruled<Rule>>> {
    let lines: Vec<&str> = page.lines().collect();
    let heads: Vec<usize> = (0..lines.len())
        .filter(|&index| cells(lines[index]).is_some_and(|cells| cells == [left, right]))
        .collect();
    let [head] = heads[..] else {
        bail!("there must be one table headed `| {left} | {right} |`, and there are {}", heads.len());
    };

    let mut rows: Vec<Ruled<Rule>> = Vec::new();
    let mut seen = HashSet::new();
    for (index, line) in lines.iter().enumerate().skip(head + 2) {
        let Some(cells) = cells(line) else { break };
        let row = Row { line: index + 1, text: line.trim().to_owned() };
        let [left, right] = &cells[..] else {
            bail!("line {}: a row has two cells: {}", row.line, row.text);
        };
        let names = names(left);
        for name in &names {
            ensure!(seen.insert(name.clone()), "line {}: `{name}` has a row already: {}", row.line, row.text);
        }
        rows.push(Ruled { names, rule: rule(right), row });
    }
    Ok(rows)
}

/// Returns a table row's cells without remarks and backticks; `None` if the line is not a row.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(|cell| without_remarks(cell).replace('`', "").trim().to_owned()).collect())
}

fn without_remarks(cell: &str) -> String {
    let mut depth = 0_usize;
    let mut kept = String::new();
    for letter in cell.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(letter),
            _ => {}
        }
    }
    kept
}

pub(super) fn names(cell: &str) -> Vec<String> {
    let given = |name: &&str| !name.is_empty() && *name != "–";
    cell.split(',').map(str::trim).filter(given).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# A page
Words before.

| crate | may depend on |
|---|---|
| domain | – |
| api-types, `store` | domain |
| e2e | api-types, domain (its bench program also: axum, sqlx) |

| dependency | only in |
|---|---|
| sqlx, pg_query | store, tests of e2e |
| temporalio-* | e2e |
| tokio | all but domain, api-types (pure) |

| folder | must not mention |
|---|---|
| crates/store/src/a, `crates/store/src/b` | axum, hyper (use cases) |

| other | table |
|---|---|
| domain | everything |
";

    fn law() -> Law {
        Law::parse(PAGE).unwrap()
    }

    fn neighbours(name: &str) -> Vec<String> {
        law().of_crate(name).unwrap().rule.0.clone()
    }

    #[test]
    fn a_row_may_name_several_crates_and_carry_remarks() {
        assert_eq!(neighbours("domain"), Vec::<String>::new());
        assert_eq!(neighbours("api-types"), ["domain"]);
        assert_eq!(neighbours("store"), ["domain"]);
        assert_eq!(neighbours("e2e"), ["api-types", "domain"]);
        assert!(law().of_crate("cellar").is_none());
    }

    #[test]
    fn a_row_carries_its_line_number_and_text() {
        let law = law();
        let row = &law.of_crate("store").unwrap().row;
        assert_eq!((row.line, row.text.as_str()), (7, "| api-types, `store` | domain |"));
    }

    #[test]
    fn places_are_a_list_tests_of_or_all_but() {
        let law = law();
        let allow = |dependency: &str, place: &str, for_tests| {
            law.of_dependency(dependency).unwrap().rule.allows(place, for_tests)
        };
        assert!(allow("pg_query", "store", false));
        assert!(allow("sqlx", "e2e", true));
        assert!(!allow("sqlx", "e2e", false));
        assert!(!allow("sqlx", "domain", true));
        assert!(allow("tokio", "store", false));
        assert!(!allow("tokio", "api-types", true));
    }

    #[test]
    fn a_folder_has_the_libraries_that_it_must_not_mention() {
        let law = law();
        let [row] = law.folders() else { panic!("{law:?}") };
        assert_eq!(row.names, ["crates/store/src/a", "crates/store/src/b"]);
        assert_eq!(row.rule, ["axum", "hyper"]);
        assert_eq!(row.row.line, 18);
    }

    #[test]
    fn a_star_matches_the_rest_of_the_name() {
        assert!(law().of_dependency("temporalio-sdk").is_some());
        assert!(law().of_dependency("temporal").is_none());
        assert!(law().of_dependency("sqlx-core").is_none());
    }

    #[test]
    fn invalid_tables_are_rejected() {
        let rejected = |from: &str, to: &str, why: &str| {
            let error = Law::parse(&PAGE.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        rejected("| crate | may", "| crates | may", "there are 0");
        rejected("| other | table |", "| crate | may depend on |", "there are 2");
        rejected("| e2e | api-types,", "| domain | api-types,", "`domain` has a row already");
        rejected("| sqlx, pg_query | store,", "| sqlx | stroe,", "`stroe` has no row");
        rejected("| e2e | api-types,", "| e2e | api-type,", "`api-type` has no row");
        rejected("| domain | – |", "| domain |", "two cells");
        rejected("| folder | must", "| folders | must", "there are 0");
    }
}
