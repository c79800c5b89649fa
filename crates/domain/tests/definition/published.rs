//! The definitions that we publish: those of the demo, and those of the documentation with their results.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use greenroom_domain::definition::{Diagnostic, parse};
use serde_json::{Map, Value, json};

use super::stage;

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_demo_is_valid() -> Result<(), Box<dyn Error>> {
    let mut demos = 0;
    for entry in fs::read_dir(repository().join("dev/demo"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            assert_valid(&path, &fs::read_to_string(&path)?);
            demos += 1;
        }
    }
    assert!(demos >= 4, "{demos}");
    Ok(())
}

/// The dashboard shows lines to add to a definition where there is nothing yet. They are files, so that all of them are
/// checked here; `deploy` is a stage of the reader's.
#[test]
fn every_example_of_the_dashboard_is_valid() -> Result<(), Box<dyn Error>> {
    const REST: &str = "stages:\n  deploy:\n    steps:\n      - image: alpine\n        run: ./deploy\n";
    let mut examples = 0;
    for path in files(&repository().join("dashboard/src"))? {
        let name = path.to_string_lossy();
        if name.ends_with(".yaml") {
            assert_valid(&path, &(fs::read_to_string(&path)? + REST));
            examples += 1;
        } else if (name.ends_with(".ts") || name.ends_with(".tsx")) && !name.ends_with("schema.gen.ts") {
            let code = fs::read_to_string(&path)?;
            for key in ["environments", "ephemeralEnvironments", "environmentTemplates", "stages", "steps"] {
                let is_inline = code.contains(&format!("{key}:\\n")) || code.contains(&format!("`{key}:\n"));
                assert!(!is_inline, "{name}: move this example to a file in texts/en/examples");
            }
        }
    }
    assert!(examples >= 3, "{examples}");
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

/// The page contains complete definitions, then one with mistakes and the response to it.
#[test]
fn the_documentation_is_correct() -> Result<(), Box<dyn Error>> {
    let path = repository().join("docs/pipeline-definition.md");
    let page = fs::read_to_string(&path)?;
    let (right, wrong) = page.split_once("\n## When something is wrong\n").ok_or("no such section")?;
    let examples: Vec<&str> = fenced(right, "yaml").filter(|text| text.contains("stages:")).collect();
    assert!(examples.len() >= 2, "{examples:?}");
    for example in examples {
        assert_valid(&path, example);
    }
    let conditions: Vec<&str> =
        fenced(right, "yaml").flat_map(str::lines).filter(|line| line.starts_with("if: ")).collect();
    assert!(!conditions.is_empty());
    for condition in conditions {
        assert_valid(&path, &stage(condition));
    }
    let invalid = fenced(wrong, "yaml").next().ok_or("no definition")?;
    let response: Value = serde_json::from_str(fenced(wrong, "json").next().ok_or("no response")?)?;
    let problems = parse(invalid).err().unwrap_or_default();
    assert_eq!(response["data"]["errors"], problems.iter().map(as_response).collect::<Value>());
    Ok(())
}

fn assert_valid(path: &Path, source: &str) {
    assert_eq!(parse(source).err(), None, "{}", path.display());
}

fn fenced<'a>(page: &'a str, language: &str) -> impl Iterator<Item = &'a str> {
    let opening = format!("\n```{language}\n");
    let blocks: Vec<&str> = page.split(opening.as_str()).skip(1).collect();
    blocks.into_iter().filter_map(|block| block.split_once("\n```").map(|(text, _)| text))
}

fn as_response(problem: &Diagnostic) -> Value {
    let mut response = Map::new();
    response.insert("pointer".to_owned(), json!(problem.pointer));
    response.insert("detail".to_owned(), json!(problem.message));
    response.insert("line".to_owned(), json!(problem.line));
    response.insert("column".to_owned(), json!(problem.column));
    if !problem.expected.is_empty() {
        response.insert("expected".to_owned(), json!(problem.expected));
    }
    if let Some(suggestion) = &problem.suggestion {
        response.insert("suggestion".to_owned(), json!(suggestion));
    }
    Value::Object(response)
}
