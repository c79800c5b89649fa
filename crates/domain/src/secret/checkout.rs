//! The repository for which a credential is requested. The server reads it and does not take it from the request, except
//! for submodules, whose addresses are in the commit.

use super::policy::Usage;
use crate::repository_pattern::RepositoryPath;

/// What is known about a checkout when its credential is requested.
#[derive(Clone, Copy, Debug)]
pub struct Checkout<'a> {
    /// The repository of the job's pipeline.
    pub pipeline_repository: Option<&'a str>,
    /// The hosts of the submodules that the job's stage fetches.
    pub submodule_hosts: &'a [String],
    /// The address that the runner is about to fetch. Runners of earlier versions do not name it.
    pub requested: Option<&'a str>,
}

impl Checkout<'_> {
    /// Returns the repository that the credential will be used for. `None` if that is not certain: such a checkout gets no
    /// credential that is limited to repositories.
    ///
    /// The request has to name the pipeline's repository, which may have been changed after the job was assigned. Another
    /// one is accepted only if the stage fetches submodules from that host.
    pub fn repository(&self, usage: &Usage) -> Option<RepositoryPath> {
        let parse = |address: &str| RepositoryPath::parse(address).filter(|path| path.host() == usage.host);
        let of_pipeline = self.pipeline_repository.and_then(parse);
        let has_submodules = self.submodule_hosts.contains(&usage.host);
        match self.requested {
            None if has_submodules => None,
            None => of_pipeline,
            Some(address) => {
                parse(address).filter(|path| has_submodules || Some(path) == of_pipeline.as_ref())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::policy::UsageKind;
    use super::*;

    #[test]
    fn only_a_submodule_is_fetched_from_another_repository_than_the_pipelines() {
        const SHOP: &str = "https://git.test:8443/acme/shop.git";
        const OTHER: &str = "https://git.test:8443/acme/other";
        let usage = Usage::new(UsageKind::Checkout, "git.test:8443").unwrap();
        let here = ["git.test:8443".to_owned()];
        let elsewhere = ["git.test".to_owned()];
        let (shop, other) = (Some("git.test:8443/acme/shop"), Some("git.test:8443/acme/other"));
        for (pipeline_repository, submodule_hosts, requested, expected) in [
            (Some(SHOP), [].as_slice(), Some(SHOP), shop),
            (Some(SHOP), &[], None, shop),
            (Some(SHOP), &[], Some(OTHER), None),
            (Some(SHOP), &elsewhere, Some(OTHER), None),
            (Some(SHOP), &here, Some(OTHER), other),
            (Some(SHOP), &here, Some(SHOP), shop),
            // A runner of an earlier version could be fetching either.
            (Some(SHOP), &here, None, None),
            (Some(SHOP), &here, Some("https://git.test/acme/other"), None),
            (Some(SHOP), &here, Some("https://git.test:8443/acme/../other"), None),
            (Some("https://git.test/acme/shop"), &[], Some("https://git.test/acme/shop"), None),
            (Some("https://git.test/acme/shop"), &here, Some(OTHER), other),
            (None, &[], Some(SHOP), None),
            (None, &[], None, None),
        ] {
            let checkout = Checkout { pipeline_repository, submodule_hosts, requested };
            let found = checkout.repository(&usage).map(|path| path.to_string());
            assert_eq!(found.as_deref(), expected, "{checkout:?}");
        }
    }
}
