//! Who may have written what a job gets. Everybody who has a runner's token decides what the jobs of its pool leave, so a pool is
//! as trusted as the jobs that it takes: a job gets nothing from a pool that takes more of them than its own.
//!
//! | Input of a job     | May have been written by                              | The job gets it if                                    |
//! |--------------------|-------------------------------------------------------|-------------------------------------------------------|
//! | checkout           | everybody who can push to the repository                | its own runner has proven that the commit is on the branch ([`required_proof`]), and reports no other ([`is_met_by`]) |
//! | artifact, outputs  | the pool of the stage that left them                  | that pool takes no more jobs than its own, or the definition accepts the stage; of an artifact: files that the stage declares, and none that was checked out |
//! | cache              | the pool of the stage that left it, in one of the deployments of its zone | the same, and its deployment reads the zone ([`cache_access`]) |
//! | files of a step    | the step registry                                     | they have the digest that the definition has locked   |
//! | secret             | an admin or maintainer                                | its rules name the pipeline, environment, pool and branch |
//!
//! [`required_proof`]: crate::deployment::required_proof
//! [`is_met_by`]: crate::deployment::BranchProof::is_met_by
//! [`cache_access`]: crate::cache::cache_access

use crate::definition::Stage;
use crate::runner_pool::Restriction;

/// A pool, as it is restricted now. All pools of one name are the same.
#[derive(Clone, Copy, Debug)]
pub struct Pool<'a> {
    pub name: &'a str,
    pub restriction: &'a Restriction,
}

/// Returns whether a stage takes what a job of another stage, or of itself in an earlier deployment, has left.
pub fn takes_from(stage: &Stage, own: Pool<'_>, maker: &str, pool_of_maker: Pool<'_>) -> bool {
    own.name == pool_of_maker.name
        || pool_of_maker.restriction.is_within(own.restriction)
        || stage.accept_from.iter().any(|key| key == maker)
}
