use super::{Proof, Proposal};

fn proof(commit: &str, deployment: &str) -> Proof {
    Proof {
        commit_id: commit.repeat(40),
        url: Some(format!("https://greenroom.example.com/o/acme/deployments/{deployment}")),
        environment: "qa-1".to_owned(),
        definition_version: 3,
        images: vec![format!("sha256:{}", "a".repeat(64)), format!("sha256:{}", "a".repeat(64))],
    }
}

fn proposal() -> Proposal {
    Proposal {
        fix_id: "fix_1".to_owned(),
        stage: "deploy".to_owned(),
        step: Some("migrate".to_owned()),
        fingerprint: "fp_1".to_owned(),
        requested_by: ("dev-one".to_owned(), "agent".to_owned()),
        lines: vec!["ERROR: schema version 41 expected, found 40".to_owned()],
        red: vec![proof("1", "dep_red")],
        green: vec![proof("2", "dep_green")],
        is_one_session: true,
        stages_not_run: vec!["production".to_owned()],
        commits_behind: Some(2),
    }
}

#[test]
fn it_links_both_deployments_and_names_what_is_not_verified() {
    let proposal = proposal();
    assert_eq!(proposal.title(), "Fix deploy / migrate");
    let body = proposal.body();
    for part in [
        "[red](https://greenroom.example.com/o/acme/deployments/dep_red)",
        "[green](https://greenroom.example.com/o/acme/deployments/dep_green)",
        "| red | `111111111111` |",
        "| green | `222222222222` |",
        "`sha256:aaaaaaaaaaaa` |",
        "ERROR: schema version 41 expected, found 40",
        "2 commits of the base branch",
        "stages that did not run: `production`",
        "Requested by `dev-one` (`agent`)",
    ] {
        assert!(body.contains(part), "{part}\n{body}");
    }
}

#[test]
fn text_of_others_has_no_meaning() {
    let hostile = "``` @admin closes #1 | [x](javascript:y) <img>\n# head";
    let proposal = Proposal {
        step: Some(hostile.to_owned()),
        requested_by: (hostile.to_owned(), hostile.to_owned()),
        lines: vec![hostile.to_owned(), "`".repeat(12), "x".repeat(10_000)],
        stages_not_run: vec![hostile.to_owned(); 50],
        ..proposal()
    };
    assert!(!proposal.title().contains(['@', '#', '`', '\n']), "{}", proposal.title());
    let body = proposal.body();
    assert!(body.len() < 20_000, "{}", body.len());
    let fence = "`".repeat(13);
    assert_eq!(body.matches(&fence).count(), 2, "{body}");
    let (before, rest) = body.split_once(&fence).unwrap();
    let (_, after) = rest.split_once(&fence).unwrap();
    for part in [before, after] {
        // Outside of code spans there is nothing of it.
        let outside: String = part.split('`').step_by(2).collect();
        for text in ["@", "#1", "<img", "javascript"] {
            assert!(!outside.contains(text), "{text}: {outside}");
        }
    }
}
