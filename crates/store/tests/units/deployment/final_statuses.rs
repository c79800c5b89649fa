//! The final statuses in SQL are those of the domain, and are written once.

use std::path::Path;

use greenroom_domain::deployment::DeploymentStatus;

#[test]
fn the_list_is_that_of_the_domain() {
    let ends: Vec<String> = DeploymentStatus::FINAL.iter().map(|status| format!("'{status}'")).collect();
    let list = format!("\"({})\"", ends.join(", "));
    assert!(include_str!("../../../src/deployment/final_statuses.rs").contains(&list), "{list}");
}

#[test]
fn no_other_file_lists_the_final_statuses() {
    let (mut folders, mut files) = (vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let lists = |path: &&std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        text.contains("in ('succeeded'") || text.contains("'superseded')")
    };
    let others: Vec<_> =
        files.iter().filter(lists).filter(|path| !path.ends_with("final_statuses.rs")).collect();
    assert!(others.is_empty(), "use query_with_final_statuses! in {others:?}");
}
