//! Whose failure it is, decided from history and not from the words of a log.

use crate::text_enum::text_enum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VerdictKind {
    /// Greenroom failed, or what it needs: a runner was lost or none came, the object store was not available.
    Platform,
    /// The same commit has also passed with the same definition and image.
    Flaky,
    /// Changes that do not contain this one fail in the same way.
    NotOnlyYou,
    /// The commit passes elsewhere, or commits of others fail here too.
    Environment,
    /// It was good before, something was changed since then, and no other change fails like this.
    Yours,
    Unknown,
}

text_enum!(VerdictKind {
    Platform = "platform",
    Flaky = "flaky",
    NotOnlyYou = "not_only_you",
    Environment = "environment",
    Yours = "yours",
    Unknown = "unknown",
});

/// A fact that a verdict is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Because {
    /// The platform ended the attempt with an error.
    PlatformError,
    PassedToo,
    OthersFailLikeThis,
    PassedElsewhere,
    OthersFailedHere,
    GoodBefore,
    CommitChanged,
    DefinitionChanged,
    ImageChanged,
    NobodyElse,
    /// There is no good run to compare with.
    NeverGood,
    NothingChanged,
}

text_enum!(Because {
    PlatformError = "platform_error",
    PassedToo = "passed_too",
    OthersFailLikeThis = "others_fail_like_this",
    PassedElsewhere = "passed_elsewhere",
    OthersFailedHere = "others_failed_here",
    GoodBefore = "good_before",
    CommitChanged = "commit_changed",
    DefinitionChanged = "definition_changed",
    ImageChanged = "image_changed",
    NobodyElse = "nobody_else",
    NeverGood = "never_good",
    NothingChanged = "nothing_changed",
});

/// What is known about a failed attempt and the runs around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The attempt ended with an error of the platform.
    pub is_errored: bool,
    /// The same step has passed with the same commit, definition and image.
    pub passed_too: bool,
    /// The same failure was seen within a day, of changes that do not contain this one.
    pub others_fail_like_this: bool,
    /// The commit has passed in another environment with the same definition.
    pub passed_elsewhere: bool,
    /// The last commits of others have failed in this environment.
    pub others_failed_here: bool,
    /// What was changed since the last good run; `None` without one.
    pub since_good: Option<Changed>,
}

/// What differs between the last good run and a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub commit: bool,
    pub definition: bool,
    pub image: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub kind: VerdictKind,
    pub because: Vec<Because>,
}

impl History {
    /// Returns the first verdict that fits.
    pub fn verdict(&self) -> Verdict {
        let verdict = |kind, because: &[Because]| Verdict { kind, because: because.to_vec() };
        if self.is_errored {
            return verdict(VerdictKind::Platform, &[Because::PlatformError]);
        }
        if self.passed_too {
            return verdict(VerdictKind::Flaky, &[Because::PassedToo]);
        }
        if self.others_fail_like_this {
            return verdict(VerdictKind::NotOnlyYou, &[Because::OthersFailLikeThis]);
        }
        let here = [
            (self.passed_elsewhere, Because::PassedElsewhere),
            (self.others_failed_here, Because::OthersFailedHere),
        ];
        if self.passed_elsewhere || self.others_failed_here {
            return Verdict { kind: VerdictKind::Environment, because: facts(&here) };
        }
        let Some(changed) = self.since_good else {
            return verdict(VerdictKind::Unknown, &[Because::NeverGood]);
        };
        let changes = [
            (true, Because::GoodBefore),
            (changed.commit, Because::CommitChanged),
            (changed.definition, Because::DefinitionChanged),
            (changed.image, Because::ImageChanged),
            (true, Because::NobodyElse),
        ];
        if changed == Changed::default() {
            return verdict(VerdictKind::Unknown, &[Because::GoodBefore, Because::NothingChanged]);
        }
        Verdict { kind: VerdictKind::Yours, because: facts(&changes) }
    }
}

fn facts(all: &[(bool, Because)]) -> Vec<Because> {
    all.iter().filter(|(holds, _)| *holds).map(|(_, because)| *because).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT_CHANGED: Changed = Changed { commit: true, definition: false, image: false };

    /// The verdicts in the order of their rules: each history also satisfies all later rules.
    #[test]
    fn the_first_rule_that_fits_decides() {
        let mut history = History {
            is_errored: true,
            passed_too: true,
            others_fail_like_this: true,
            passed_elsewhere: true,
            others_failed_here: true,
            since_good: Some(COMMIT_CHANGED),
        };
        let mut kinds = vec![history.verdict().kind];
        history.is_errored = false;
        kinds.push(history.verdict().kind);
        history.passed_too = false;
        kinds.push(history.verdict().kind);
        history.others_fail_like_this = false;
        kinds.push(history.verdict().kind);
        history.passed_elsewhere = false;
        assert_eq!(history.verdict().because, [Because::OthersFailedHere]);
        history.others_failed_here = false;
        kinds.push(history.verdict().kind);
        history.since_good = None;
        kinds.push(history.verdict().kind);
        assert_eq!(kinds, VerdictKind::ALL);
    }

    #[test]
    fn a_failure_is_not_yours_if_nothing_was_changed() {
        let history = History { since_good: Some(Changed::default()), ..History::default() };
        assert_eq!(history.verdict().kind, VerdictKind::Unknown);
        assert_eq!(history.verdict().because, [Because::GoodBefore, Because::NothingChanged]);
    }

    #[test]
    fn the_verdict_names_each_change() {
        let changed = Changed { commit: true, definition: true, image: true };
        let history = History { since_good: Some(changed), ..History::default() };
        let names: Vec<&str> = history.verdict().because.into_iter().map(Because::as_str).collect();
        let expected =
            ["good_before", "commit_changed", "definition_changed", "image_changed", "nobody_else"];
        assert_eq!(names, expected);
    }
}
