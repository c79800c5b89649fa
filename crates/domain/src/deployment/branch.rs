//! The branches that the commit of a job must be on, checked by the runner before the first step.

use std::fmt;

use super::plan::Purpose;
use crate::definition::{Definition, Stage};

/// The branches that the commit of a job has to be on. If both are empty, any branch of the repository will
/// do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchProof {
    /// The branch that the deployment names.
    pub branch: Option<String>,
    /// The branches that the lasting environment allows; the commit has to be on one of them.
    pub any_of: Vec<String>,
}

impl BranchProof {
    /// Returns whether a checkout that has proven this branch has proven what is required. A commit that has to be on a
    /// named branch and on one of the environment's as well is reported with the named one.
    pub fn is_met_by(&self, branch: &str) -> bool {
        match &self.branch {
            Some(named) => named == branch,
            None => self.any_of.is_empty() || self.any_of.iter().any(|allowed| allowed == branch),
        }
    }
}

impl fmt::Display for BranchProof {
    /// Completes "must be".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.branch {
            Some(named) => write!(f, "`{named}`, the branch that the deployment names"),
            None if self.any_of.is_empty() => write!(f, "a branch of the repository"),
            None => write!(f, "one of the environment's branches: `{}`", self.any_of.join("`, `")),
        }
    }
}

/// Returns what the job of a stage has to prove; `None` if nothing. Every job proves it again, because a
/// proof is only as trustworthy as the runner that reports it, and the jobs of a deployment can run on
/// different ones.
pub fn required_proof(
    definition: &Definition,
    purpose: Purpose,
    stage: &Stage,
    named: Option<&str>,
) -> Option<BranchProof> {
    // In a session, a stage deploys to the ephemeral environment instead of the lasting one that it names.
    let lasting = stage.environment.as_deref().filter(|_| purpose == Purpose::Pipeline);
    if named.is_none() && lasting.is_none() {
        return None;
    }
    let environment = lasting.and_then(|name| definition.environment(name));
    Some(BranchProof {
        branch: named.map(str::to_owned),
        any_of: environment.map(|environment| environment.branches.clone()).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::parse;

    const SHOP: &str = r#"
environments:
  production: { branches: [main, hotfix] }
  preview: {}
ephemeralEnvironments: { qa-1: { stages: [build] } }
stages:
  build: { steps: [{ image: a, run: b }] }
  show: { environment: preview, steps: [{ image: a, run: b }] }
  release: { environment: production, steps: [{ image: a, run: b }] }
"#;

    #[test]
    fn required_proof_by_purpose_and_stage() {
        let definition = parse(SHOP).unwrap();
        let proof = |purpose, stage: &str, named| {
            let proof = required_proof(&definition, purpose, definition.stage(stage).unwrap(), named);
            proof.map(|proof| (proof.branch, proof.any_of))
        };
        let (main, both) = (Some("main".to_owned()), vec!["main".to_owned(), "hotfix".to_owned()]);
        for (purpose, stage, named, expected) in [
            (Purpose::Pipeline, "build", None, None),
            (Purpose::Session, "build", None, None),
            (Purpose::Session, "release", None, None),
            (Purpose::Pipeline, "build", Some("main"), Some((main.clone(), vec![]))),
            (Purpose::Session, "build", Some("main"), Some((main.clone(), vec![]))),
            (Purpose::Pipeline, "show", None, Some((None, vec![]))),
            (Purpose::Pipeline, "release", None, Some((None, both.clone()))),
            (Purpose::Pipeline, "release", Some("main"), Some((main.clone(), both.clone()))),
        ] {
            assert_eq!(proof(purpose, stage, named), expected, "{purpose} {stage} {named:?}");
        }
    }

    #[test]
    fn a_proof_is_met_by_the_branches_that_a_checkout_may_report() {
        let (main, hotfix) = ("main".to_owned(), "hotfix".to_owned());
        for (branch, any_of, met, text) in [
            (None, vec![], &["main", "hotfix", "x"][..], "a branch of the repository"),
            (
                None,
                vec![main.clone(), hotfix.clone()],
                &["main", "hotfix"][..],
                "one of the environment's branches: `main`, `hotfix`",
            ),
            (Some(main.clone()), vec![], &["main"][..], "`main`, the branch that the deployment names"),
            (Some(hotfix), vec![main], &["hotfix"][..], "`hotfix`, the branch that the deployment names"),
        ] {
            let proof = BranchProof { branch, any_of };
            for reported in ["main", "hotfix", "x", "mai", "main2", ""] {
                let expected = met.contains(&reported) || met.contains(&"x");
                assert_eq!(proof.is_met_by(reported), expected, "{proof:?} {reported:?}");
            }
            assert_eq!(proof.to_string(), text);
        }
    }
}
