//! Error codes and their pages.

use greenroom_api_types::problem::Problem;
use greenroom_app::failure::Code;

#[test]
fn every_page_names_its_code_and_status() {
    for code in Code::ALL {
        let (name, status, text) = (code.name(), code.status(), code.page());
        assert!(text.starts_with(&format!("# {name}\n")), "docs/errors/{name}.md: the heading");
        assert!(text.contains(&format!("**Status {status}.**")), "docs/errors/{name}.md: the status");
    }
}

#[test]
fn every_page_has_its_code() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    let mut files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
    let mut codes: Vec<String> = Code::ALL.iter().map(|code| format!("{}.md", code.name())).collect();
    files.sort_unstable();
    codes.sort_unstable();
    assert_eq!(files, codes);
}

/// The last JSON block of a page is a complete problem, as the server sends it.
#[test]
fn every_page_has_an_example() {
    for code in Code::ALL {
        let blocks = code.page().split("```json\n").skip(1).filter_map(|rest| rest.split("\n```").next());
        let problems = blocks.filter_map(|text| serde_json::from_str::<Problem>(text).ok());
        let found =
            problems.last().map(|problem| (problem.code, problem.status, problem.r#type, problem.title));
        let (name, page) = (code.name().to_owned(), format!("/docs/errors/{}", code.name()));
        let expected = (name, code.status(), page, code.title().to_owned());
        assert_eq!(found, Some(expected), "docs/errors/{}.md", code.name());
    }
}
