//! The pages of error codes.

use greenroom_app::failure::Code;
use greenroom_server::internals::meaning;

#[test]
fn every_page_begins_with_a_sentence_of_meaning() {
    for code in Code::ALL {
        let meaning = meaning(code.page());
        assert!(meaning.len() > 10 && meaning.ends_with('.'), "{}: {meaning:?}", code.name());
    }
}

/// The table in the repository's documentation has all codes, each with its status.
#[test]
fn the_documentation_index_lists_all_codes() {
    let index = include_str!("../../../../../docs/README.md");
    for code in Code::ALL {
        let row = format!("| [{0}](errors/{0}.md) | {1} |", code.name(), code.status());
        assert!(index.contains(&row), "docs/README.md has no row {row}");
    }
}
