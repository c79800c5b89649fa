//! What may reach a job, from the campaign's own table of pools and pipelines, without the product's code.

use crate::fault::provenance::mark::{Mark, Medium, Place};
use crate::fault::provenance::pipelines::{Pipeline, Stage, find_pool};

/// A job that got something.
#[derive(Clone, Copy)]
pub(super) struct Consumer<'a> {
    pub(super) pipeline: &'static Pipeline,
    pub(super) stage: &'static Stage,
    pub(super) deployment: &'a str,
    pub(super) is_session: bool,
}

/// What is known of the job that left a mark, besides the mark.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) pipeline: &'static Pipeline,
    /// The branch that its runner has reported, or for an honest one that the commit is on.
    pub(super) branch: Option<&'a str>,
}

/// Why a mark must not have reached a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forbidden {
    /// The pool that left it takes more jobs.
    LowerPool,
    /// It is not where the definition allows files.
    Path,
    /// It is of another pipeline, of another deployment, or of a stage that is not needed.
    Unrelated,
    /// It is the cache of a session, or of a branch that the environment does not allow.
    Zone,
}

pub(super) fn judge(mark: &Mark, origin: Origin<'_>, consumer: Consumer<'_>) -> Result<(), Forbidden> {
    let Consumer { pipeline, stage, deployment, is_session } = consumer;
    if !matches!(mark.place, Place::Declared | Place::Claimed) {
        return Err(Forbidden::Path);
    }
    if origin.pipeline.slug != pipeline.slug {
        return Err(Forbidden::Unrelated);
    }
    let rank = |name: &str| find_pool(name).map(|pool| pool.rank);
    let is_accepted = stage.accept_from.contains(&mark.stage.as_str());
    if !is_accepted && rank(&mark.pool) < rank(stage.pool) {
        return Err(Forbidden::LowerPool);
    }
    match mark.medium {
        Medium::Artifact | Medium::Output => {
            let is_needed = stage.needs.contains(&mark.stage.as_str());
            let declares = || pipeline.stage(&mark.stage).is_some_and(|stage| !stage.declared().is_empty());
            let is_declared = mark.medium == Medium::Output || declares();
            match mark.deployment == deployment && is_needed && is_declared {
                true => Ok(()),
                false => Err(Forbidden::Unrelated),
            }
        }
        Medium::Cache if is_session => Ok(()),
        Medium::Cache if mark.purpose != "pipeline" => Err(Forbidden::Zone),
        Medium::Cache => match may_keep_cache(pipeline, false, origin.branch) {
            true => Ok(()),
            false => Err(Forbidden::Zone),
        },
    }
}

/// Returns whether a job may leave a cache if its runner has reported this branch.
pub(super) fn may_keep_cache(pipeline: &Pipeline, is_session: bool, branch: Option<&str>) -> bool {
    let is_protected = pipeline.has_repository && !pipeline.branches.is_empty() && !is_session;
    !is_protected || branch.is_some_and(|branch| pipeline.branches.contains(&branch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::provenance::pipelines::PIPELINES;

    fn find(slug: &str) -> &'static Pipeline {
        PIPELINES.iter().find(|pipeline| pipeline.slug == slug).unwrap()
    }

    fn mark(stage: &str, pool: &str, purpose: &str, medium: Medium, place: Place) -> Mark {
        Mark {
            pool: pool.to_owned(),
            stage: stage.to_owned(),
            purpose: purpose.to_owned(),
            environment: "none".to_owned(),
            deployment: "dep_1".to_owned(),
            medium,
            place,
        }
    }

    fn judge_in(slug: &str, stage: &str, mark: &Mark, branch: Option<&str>) -> Result<(), Forbidden> {
        let pipeline = find(slug);
        let stage = pipeline.stage(stage).unwrap();
        let consumer = Consumer { pipeline, stage, deployment: "dep_1", is_session: false };
        judge(mark, Origin { pipeline, branch }, consumer)
    }

    #[test]
    fn artifacts_and_outputs_come_from_needed_stages_of_pools_that_take_no_more() {
        use Forbidden::{LowerPool, Path, Unrelated};
        use Medium::{Artifact, Output};
        use Place::{Checkout, Declared, Git, Outside};
        for (slug, consumer, stage, pool, medium, place, expected) in [
            ("storefront", "ship", "package", "production-api", Artifact, Declared, Ok(())),
            ("storefront", "ship", "build", "open", Artifact, Declared, Err(LowerPool)),
            ("storefront", "ship", "build", "open", Output, Declared, Err(LowerPool)),
            ("storefront", "announce", "package", "production-api", Artifact, Declared, Err(Unrelated)),
            ("accepting", "deploy", "build", "open", Artifact, Declared, Ok(())),
            ("accepting", "deploy", "build", "open", Artifact, Checkout, Err(Path)),
            ("accepting", "deploy", "build", "open", Artifact, Git, Err(Path)),
            ("accepting", "deploy", "build", "open", Artifact, Outside, Err(Path)),
            ("accepting", "try", "build", "open", Artifact, Declared, Err(LowerPool)),
            ("upward", "test", "build", "team", Output, Declared, Ok(())),
            ("bare", "test", "build", "open", Output, Declared, Ok(())),
            ("bare", "test", "build", "open", Artifact, Declared, Err(Unrelated)),
        ] {
            let mark = mark(stage, pool, "pipeline", medium, place);
            assert_eq!(judge_in(slug, consumer, &mark, None), expected, "{slug} {consumer} {mark:?}");
        }
        let other =
            Mark { deployment: "dep_2".to_owned(), ..mark("build", "team", "pipeline", Output, Declared) };
        assert_eq!(judge_in("upward", "test", &other, None), Err(Unrelated));
    }

    #[test]
    fn caches_come_from_the_same_zone() {
        use Forbidden::{LowerPool, Zone};
        for (slug, consumer, pool, purpose, branch, expected) in [
            ("storefront", "build", "open", "pipeline", Some("main"), Ok(())),
            ("storefront", "build", "open", "pipeline", Some("other"), Err(Zone)),
            ("storefront", "build", "open", "pipeline", None, Err(Zone)),
            ("storefront", "build", "open", "session", Some("main"), Err(Zone)),
            ("storefront", "ship", "open", "pipeline", Some("main"), Err(LowerPool)),
            ("accepting", "build", "open", "pipeline", None, Ok(())),
            ("accepting", "build", "open", "session", None, Err(Zone)),
            ("no-repository", "build", "open", "pipeline", None, Ok(())),
        ] {
            let mark = mark("build", pool, purpose, Medium::Cache, Place::Declared);
            assert_eq!(judge_in(slug, consumer, &mark, branch), expected, "{slug} {consumer} {branch:?}");
        }
        let (pipeline, stage) = (find("storefront"), find("storefront").stage("build").unwrap());
        let consumer = Consumer { pipeline, stage, deployment: "dep_1", is_session: true };
        let of_session = mark("build", "open", "session", Medium::Cache, Place::Declared);
        assert_eq!(judge(&of_session, Origin { pipeline, branch: None }, consumer), Ok(()));
        let foreign = Origin { pipeline: find("bare"), branch: None };
        assert_eq!(judge(&of_session, foreign, consumer), Err(Forbidden::Unrelated));
    }
}
