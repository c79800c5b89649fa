//! The hosts from which a stage's submodules are fetched.

use greenroom_domain::definition::parse;

use super::{check_table, invalid, stage};

#[test]
fn a_stage_names_the_hosts_of_its_submodules() {
    let definition = parse(&stage("submodules: [Git.example.com:443, \"git.test:8443\"]")).unwrap();
    assert_eq!(definition.stages[0].submodules, ["git.example.com", "git.test:8443"]);
    // Definitions that were stored before `submodules` existed are still valid.
    let without = serde_json::to_value(parse(&stage("timeout: 1m")).unwrap()).unwrap();
    assert!(without["stages"][0].get("submodules").is_none());
    check_table(&[
        invalid(stage("submodules: []"), (4, 17), "/stages/build/submodules", "at least one host", None),
        invalid(stage("submodules: [a.test, a.test]"), (4, 26), "/stages/build/submodules/1", "twice", None),
        invalid(
            stage("submodules: [https://a.test]"),
            (4, 18),
            "/stages/build/submodules/0",
            "not a host",
            None,
        ),
        invalid(stage("submodules: [bot@a.test]"), (4, 18), "/stages/build/submodules/0", "not a host", None),
        invalid(
            stage("submodules: [a.test/team]"),
            (4, 18),
            "/stages/build/submodules/0",
            "not a host",
            None,
        ),
        invalid(stage("submodules: [\"*\"]"), (4, 18), "/stages/build/submodules/0", "not a host", None),
    ]);
}
