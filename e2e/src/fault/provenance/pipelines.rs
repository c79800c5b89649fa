//! The pools and pipelines of the campaign. Each pool is restricted at least as much as those before it, so a rank orders them.
//! The oracle and the definitions are made from this table.

use Role::{Hostile, Reader, Runner};
use RunsIn::{Deployment, Environment, Session};

pub(super) struct Pool {
    pub(super) name: &'static str,
    /// A job may get nothing from a pool of a lower rank, unless its definition accepts it.
    pub(super) rank: u8,
    pub(super) role: Role,
}

/// Who runs the jobs of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A hostile runner, which speaks the runner's API directly.
    Hostile,
    /// An honest runner of the campaign, which reads through the API all that a job gets.
    Reader,
    /// The product's own runner. Its steps search the workspace.
    Runner,
}

const fn pool(name: &'static str, rank: u8, role: Role) -> Pool {
    Pool { name, rank, role }
}

/// In order: without a restriction; restricted to the pipelines; to pipelines and environments; to one pipeline and production.
pub(super) static POOLS: [Pool; 6] = [
    pool("open", 0, Hostile),
    pool("team", 1, Hostile),
    pool("delivery", 2, Runner),
    pool("delivery-api", 2, Reader),
    pool("production", 3, Runner),
    pool("production-api", 3, Reader),
];
pub(super) const DELIVERY_ENVIRONMENTS: [&str; 3] = [PRODUCTION, STAGING, "qa-*"];
pub(super) const PRODUCTION: &str = "production";
const STAGING: &str = "staging";
/// The ephemeral environment of all sessions.
pub(super) const EPHEMERAL: &str = "qa-1";
/// Keys and folders of the caches that every stage declares.
pub(super) const CACHES: [&str; 2] = ["deps", "tools"];
/// A folder of the repository with this file. Some stages declare the folder, and none the file.
pub(super) const CHECKED_OUT: (&str, &str) = ("app", "app/version");

pub(super) struct Pipeline {
    pub(super) slug: &'static str,
    pub(super) has_repository: bool,
    /// The lasting environment, and its `branches`.
    pub(super) environment: &'static str,
    pub(super) branches: &'static [&'static str],
    pub(super) stages: &'static [Stage],
}

pub(super) struct Stage {
    pub(super) key: &'static str,
    pub(super) pool: &'static str,
    pub(super) runs_in: RunsIn,
    pub(super) needs: &'static [&'static str],
    pub(super) accept_from: &'static [&'static str],
    /// Whether it declares `out/<key>`, and a folder of the repository.
    pub(super) artifacts: Artifacts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunsIn {
    /// Sessions, and deployments of the pipeline, without an environment.
    Deployment,
    /// Deployments of the pipeline only, and deploys to its lasting environment.
    Environment,
    /// Sessions only.
    Session,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Artifacts {
    None,
    Own,
    OwnAndCheckedOut,
}

impl Stage {
    const fn new(key: &'static str, pool: &'static str, runs_in: RunsIn) -> Self {
        Self { key, pool, runs_in, needs: &[], accept_from: &[], artifacts: Artifacts::Own }
    }

    const fn needs(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }

    const fn accepts(self, accept_from: &'static [&'static str]) -> Self {
        Self { accept_from, ..self }
    }

    const fn artifacts(self, artifacts: Artifacts) -> Self {
        Self { artifacts, ..self }
    }

    pub(super) fn declared(&self) -> Vec<String> {
        let own = format!("out/{}", self.key);
        match self.artifacts {
            Artifacts::None => Vec::new(),
            Artifacts::Own => vec![own],
            Artifacts::OwnAndCheckedOut => vec![own, CHECKED_OUT.0.to_owned()],
        }
    }
}

pub(super) static PIPELINES: [Pipeline; 6] = [
    // The only one that may use the pools of production.
    Pipeline {
        slug: "storefront",
        has_repository: true,
        environment: PRODUCTION,
        branches: &["main"],
        stages: &[
            Stage::new("build", "open", Deployment),
            Stage::new("check", "team", Deployment).needs(&["build"]),
            Stage::new("package", "production-api", Environment).needs(&["check"]),
            Stage::new("ship", "production", Environment).needs(&["build", "package"]),
            Stage::new("announce", "production-api", Environment).needs(&["ship"]),
        ],
    },
    // Accepts what a lower pool leaves.
    Pipeline {
        slug: "accepting",
        has_repository: true,
        environment: STAGING,
        branches: &[],
        stages: &[
            Stage::new("build", "open", Deployment).artifacts(Artifacts::OwnAndCheckedOut),
            Stage::new("deploy", "delivery", Environment).needs(&["build"]).accepts(&["build"]),
            Stage::new("verify", "delivery-api", Environment).needs(&["deploy"]),
            Stage::new("try", "delivery", Session).needs(&["build"]),
        ],
    },
    // Its first stage declares no artifacts.
    Pipeline {
        slug: "bare",
        has_repository: true,
        environment: STAGING,
        branches: &[],
        stages: &[
            Stage::new("build", "open", Deployment).artifacts(Artifacts::None),
            Stage::new("test", "open", Deployment).needs(&["build"]),
            Stage::new("deploy", "delivery-api", Environment).needs(&["build"]),
            Stage::new("confirm", "delivery", Environment).needs(&["deploy"]),
        ],
    },
    // From a higher pool to a lower one, and up again.
    Pipeline {
        slug: "upward",
        has_repository: true,
        environment: STAGING,
        branches: &["main"],
        stages: &[
            Stage::new("build", "team", Deployment),
            Stage::new("test", "open", Deployment).needs(&["build"]),
            Stage::new("deploy", "delivery", Environment).needs(&["test"]),
            Stage::new("verify", "delivery-api", Environment).needs(&["build", "deploy"]),
        ],
    },
    // Nothing is checked out, so its `branches` protect nothing.
    Pipeline {
        slug: "no-repository",
        has_repository: false,
        environment: PRODUCTION,
        branches: &["main"],
        stages: &[
            Stage::new("build", "open", Deployment),
            Stage::new("deploy", "delivery-api", Environment).needs(&["build"]),
            Stage::new("announce", "delivery", Environment).needs(&["deploy"]),
        ],
    },
    // Its sessions use a higher pool as well.
    Pipeline {
        slug: "tooling",
        has_repository: true,
        environment: PRODUCTION,
        branches: &["main"],
        stages: &[
            Stage::new("build", "open", Deployment),
            Stage::new("try", "delivery", Session),
            Stage::new("probe", "delivery-api", Session).needs(&["try"]),
            Stage::new("release", "delivery-api", Environment).needs(&["build"]),
        ],
    },
];

impl Pipeline {
    pub(super) fn stage(&self, key: &str) -> Option<&'static Stage> {
        self.stages.iter().find(|stage| stage.key == key)
    }
}

pub(super) fn find_pool(name: &str) -> Option<&'static Pool> {
    POOLS.iter().find(|pool| pool.name == name)
}
