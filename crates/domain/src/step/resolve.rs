//! Which version of a step a reference means.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};

use super::version::{StepVersion, VersionRequirement};
use crate::definition::{StepReference, nearest};
use crate::digest::StepDigest;

/// A version of a step, as its registry has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub version: StepVersion,
    pub digest: StepDigest,
    /// The registry has verified a signature of one of its signers.
    pub is_signed: bool,
    /// When the registry was first seen to have it. Times in a repository can be set to any value by its authors.
    pub seen_at: Timestamp,
    /// It is not chosen for new locks, unless it is named exactly.
    pub is_yanked: bool,
    /// It must not run, in whichever way it is named.
    pub is_refused: bool,
}

/// What a registry requires of versions. It holds for versions that are named exactly too: who may edit a pipeline can't
/// evade what an admin requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegistryTrust {
    pub require_signature: bool,
    pub minimum_age_seconds: u64,
}

/// Why a reference can't be resolved, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    #[error("there is no step registry `{registry}`{}", hint(suggestion.as_deref(), "an admin can add it"))]
    NoSuchRegistry { registry: String, suggestion: Option<String> },
    #[error("the step registry `{registry}` is disabled; an admin can enable it")]
    Disabled { registry: String },
    #[error(
        "the registry `{registry}` has no step `{name}`{}",
        hint(suggestion.as_deref(), "publish it with a tag, or sync the registry")
    )]
    NoSuchStep { registry: String, name: String, suggestion: Option<String> },
    #[error("no version fits `{required}`; {}", newest_hint(newest.as_ref()))]
    NoVersion { required: String, newest: Option<StepVersion> },
    #[error(
        "all versions that fit `{required}` are yanked; use another version, or name `v{newest}` exactly"
    )]
    AllYanked { required: String, newest: StepVersion },
    #[error("the version {version} is refused and must not run; use another version")]
    Refused { version: StepVersion },
    #[error(
        "the version {version} is too new for its registry until {until}; wait until then, or use an older version"
    )]
    TooYoung { version: StepVersion, until: Timestamp },
    #[error(
        "the version {version} has no valid signature, and its registry requires one; publish a version with a signed tag"
    )]
    NotSigned { version: StepVersion },
}

impl Unresolved {
    pub fn no_such_registry<'a>(
        reference: &StepReference,
        registries: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let suggestion = nearest(&reference.registry, registries).map(str::to_owned);
        Self::NoSuchRegistry { registry: reference.registry.clone(), suggestion }
    }

    pub fn no_such_step<'a>(reference: &StepReference, names: impl IntoIterator<Item = &'a str>) -> Self {
        let suggestion = nearest(&reference.name, names).map(str::to_owned);
        Self::NoSuchStep { registry: reference.registry.clone(), name: reference.name.clone(), suggestion }
    }

    /// Returns the reference that was probably meant.
    pub fn suggestion(&self, reference: &StepReference) -> Option<String> {
        let StepReference { registry, name, version } = reference;
        match self {
            Self::NoSuchRegistry { suggestion: Some(registry), .. } => {
                Some(format!("{registry}/{name}@{version}"))
            }
            Self::NoSuchStep { suggestion: Some(name), .. } => Some(format!("{registry}/{name}@{version}")),
            Self::NoVersion { newest: Some(newest), .. } => Some(format!("{registry}/{name}@v{newest}")),
            _ => None,
        }
    }
}

fn hint(suggestion: Option<&str>, otherwise: &str) -> String {
    suggestion.map_or_else(|| format!("; {otherwise}"), |name| format!("; did you mean `{name}`?"))
}

fn newest_hint(newest: Option<&StepVersion>) -> String {
    let publish = || "publish one with a tag, or sync the registry".to_owned();
    newest.map_or_else(publish, |version| format!("the newest version is `v{version}`"))
}

/// Returns the newest version of a step that fits and that its registry trusts. `candidates` are all versions of the step.
pub fn resolve<'a>(
    requirement: &VersionRequirement,
    candidates: &'a [Candidate],
    trust: &RegistryTrust,
    now: Timestamp,
) -> Result<&'a Candidate, Unresolved> {
    // Content that is refused stays so under another version.
    let refused: HashSet<&StepDigest> = candidates
        .iter()
        .filter(|candidate| candidate.is_refused)
        .map(|candidate| &candidate.digest)
        .collect();
    let objection = |candidate: &Candidate| {
        if refused.contains(&candidate.digest) {
            return Some(Objection::Refused);
        }
        if candidate.is_yanked && !requirement.is_exact() {
            return Some(Objection::Yanked);
        }
        if trust.require_signature && !candidate.is_signed {
            return Some(Objection::NotSigned);
        }
        let until = old_enough_at(candidate, trust);
        (until > now).then_some(Objection::TooYoung(until))
    };
    let mut fitting: Vec<&Candidate> = candidates
        .iter()
        .filter(|candidate| requirement.matches(&candidate.version, &candidate.digest))
        .collect();
    // Newest first; of equal content, a version that is not yanked.
    fitting.sort_by(|one, other| (one.is_yanked, &other.version).cmp(&(other.is_yanked, &one.version)));
    let mut rejected = Vec::with_capacity(fitting.len());
    for candidate in fitting {
        match objection(candidate) {
            None => return Ok(candidate),
            Some(objection) => rejected.push((objection, candidate)),
        }
    }
    Err(explain(requirement, candidates, &rejected))
}

/// Why a version that fits is not chosen, from what is easiest to resolve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Objection {
    TooYoung(Timestamp),
    NotSigned,
    Yanked,
    Refused,
}

/// Returns the problem that is the easiest to resolve: of versions that are too new, the one that has to wait least; of
/// others, the newest.
fn explain(
    requirement: &VersionRequirement,
    candidates: &[Candidate],
    rejected: &[(Objection, &Candidate)],
) -> Unresolved {
    let required = requirement.to_string();
    let Some((objection, candidate)) = rejected.iter().min_by_key(|(objection, _)| *objection) else {
        let usable = candidates.iter().filter(|candidate| !candidate.is_yanked && !candidate.is_refused);
        let newest = usable.map(|candidate| &candidate.version);
        let newest = newest.max_by_key(|version| (!version.is_prerelease(), *version)).cloned();
        return Unresolved::NoVersion { required, newest };
    };
    let version = candidate.version.clone();
    match objection {
        Objection::TooYoung(until) => Unresolved::TooYoung { version, until: *until },
        Objection::NotSigned => Unresolved::NotSigned { version },
        Objection::Yanked => Unresolved::AllYanked { required, newest: version },
        Objection::Refused => Unresolved::Refused { version },
    }
}

/// An age that can't be represented is never reached.
fn old_enough_at(candidate: &Candidate, trust: &RegistryTrust) -> Timestamp {
    let age = SignedDuration::from_secs(i64::try_from(trust.minimum_age_seconds).unwrap_or(i64::MAX));
    candidate.seen_at.checked_add(age).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
