use super::*;
use crate::definition::parse;

const BRANCHES: [&str; 3] = ["main", "develop", "evil"];
const PURPOSES: [Purpose; 3] = [Purpose::Pipeline, Purpose::Session, Purpose::Teardown];

/// Which of the branches an environment allows, one bit each; none: it has no `branches`.
type Allowed = usize;

/// A pipeline whose stages deploy to these environments. A third one, which allows `main` only, is not deployed to.
fn pipeline(environments: &[Option<Allowed>; 2]) -> Definition {
    let mut file = "ephemeralEnvironments: { qa-1: { stages: [build] } }\nstages:\n".to_owned();
    file.push_str("  build: { steps: [{ image: a, run: b }] }\n");
    for (number, _) in environments.iter().enumerate().filter(|(_, allowed)| allowed.is_some()) {
        file.push_str(&format!(
            "  ship-{number}: {{ environment: env-{number}, if: branch == \"main\", steps: [{{ image: a, run: b }}] }}\n"
        ));
    }
    file.push_str("environments:\n  unused: { branches: [main] }\n");
    for (number, allowed) in environments.iter().enumerate() {
        let Some(allowed) = allowed else { continue };
        let allowed: Vec<_> = (0..3).filter(|bit| allowed >> bit & 1 == 1).map(|bit| BRANCHES[bit]).collect();
        let branches =
            if allowed.is_empty() { String::new() } else { format!("branches: [{}]", allowed.join(", ")) };
        file.push_str(&format!("  env-{number}: {{ {branches} }}\n"));
    }
    parse(&file).unwrap()
}

/// What may be in a cache of a zone: the least trusted origin of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    AnySession,
    AnyCommit,
    AllowedBranch,
}

const fn origin(zone: CacheZone) -> Origin {
    match zone {
        CacheZone::Protected => Origin::AllowedBranch,
        CacheZone::Open => Origin::AnyCommit,
        CacheZone::Session => Origin::AnySession,
    }
}

/// Written from the promise and not from the code: what a job reads is as trusted as what its deployment may change, and
/// what it writes is as trusted as the job itself.
#[test]
fn no_job_reads_what_is_less_trusted_than_its_targets_or_writes_what_is_more_trusted_than_itself() {
    let all = || std::iter::once(None).chain((0..8).map(Some));
    for (first, second) in all().flat_map(|first| all().map(move |second| (first, second))) {
        let environments = [first, second];
        let definition = pipeline(&environments);
        let restricted: Vec<Allowed> =
            environments.iter().flatten().copied().filter(|allowed| *allowed != 0).collect();
        for (purpose, has_repository) in
            PURPOSES.iter().flat_map(|purpose| [(purpose, true), (purpose, false)])
        {
            for proven in [None, Some(0), Some(1), Some(2)] {
                let access = cache_access(
                    &definition,
                    *purpose,
                    has_repository,
                    proven.map(|bit: usize| BRANCHES[bit]),
                );
                let is_allowed =
                    proven.is_some_and(|bit| restricted.iter().all(|allowed| allowed >> bit & 1 == 1));
                let is_protected = has_repository && !restricted.is_empty();
                let (needed, own) = match (purpose, is_protected) {
                    (Purpose::Session | Purpose::Teardown, _) => (Origin::AnySession, Origin::AnySession),
                    (Purpose::Pipeline, true) if is_allowed => (Origin::AllowedBranch, Origin::AllowedBranch),
                    (Purpose::Pipeline, true) => (Origin::AllowedBranch, Origin::AnyCommit),
                    (Purpose::Pipeline, false) => (Origin::AnyCommit, Origin::AnyCommit),
                };
                let case = format!("{environments:?} {purpose} {has_repository} {proven:?}: {access:?}");
                assert!(access.read.iter().all(|zone| origin(*zone) >= needed), "reads too much: {case}");
                assert!(access.write.is_none_or(|zone| origin(zone) <= own), "writes too much: {case}");
                // What is safe is allowed, and what was written can be read.
                assert_eq!(access.read.len(), 3 - needed as usize, "reads too little: {case}");
                let writes = own >= needed;
                assert_eq!(access.write.map(origin), writes.then_some(own), "{case}");
                assert!(access.write.is_none_or(|zone| access.read.contains(&zone)), "{case}");
                assert!(access.read.is_sorted_by_key(|zone| std::cmp::Reverse(origin(*zone))), "{case}");
            }
        }
    }
}
