//! Identifiers: a type prefix and a UUIDv7, `pip_0190…`. The prefix is part of the text only; the database
//! holds the UUID.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// The text is not an identifier of the expected type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an identifier that starts with `{prefix}_`")]
pub struct InvalidId {
    pub prefix: &'static str,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}_{}", $prefix, self.0.as_hyphenated())
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                parse(text, $prefix).map(Self).ok_or(InvalidId { prefix: $prefix })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

ids! {
    /// One installation of Greenroom: a database with its servers and workers.
    InstallationId = "ins",
    /// An organization: the partition key of everything.
    OrganizationId = "org",
    /// A person, who may be a member of several organizations, or a service account of one.
    UserId = "usr",
    /// An API token of one user in one organization.
    TokenId = "tok",
    /// A trust policy of a service account.
    TrustPolicyId = "tru",
    /// A browser in which a person is signed in.
    BrowserSessionId = "brs",
    PipelineId = "pip",
    EnvironmentId = "env",
    SessionId = "ses",
    DeploymentId = "dep",
    /// One attempt of one stage, which a runner executes.
    JobId = "job",
    StepRunId = "stp",
    PoolId = "pol",
    RunnerId = "run",
    ArtifactId = "art",
    SecretId = "sec",
    FreezeId = "frz",
    ApprovalId = "apr",
    /// A group of members of an organization.
    GroupId = "grp",
    /// A data key of an organization, which seals the values of its secrets.
    OrganizationKeyId = "oky",
    /// A key that signs id tokens.
    SigningKeyId = "sgk",
    /// A registry of steps.
    RegistryId = "reg",
    /// A failed attempt of a stage.
    FailureId = "fai",
    /// An analysis of a failure.
    AnalysisId = "ana",
    /// A connected forge.
    ForgeId = "fge",
    /// A fix of a failure, which opens a pull request.
    FixId = "fix",
    /// A call of a model.
    ModelCallId = "mdc",
    EventId = "evt",
}

/// Accepts one spelling only (lower case, with hyphens), so that a record has one URL.
fn parse(text: &str, prefix: &str) -> Option<Uuid> {
    let uuid = text.strip_prefix(prefix)?.strip_prefix('_')?;
    let parsed = Uuid::try_parse(uuid).ok()?;
    (parsed.as_hyphenated().to_string() == uuid).then_some(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        let text = "pip_0190a0b0-0000-7000-8000-000000000001";
        let id: PipelineId = text.parse().unwrap();
        assert_eq!(id.to_string(), text);
    }

    #[test]
    fn json_is_the_text() {
        let text = r#""pip_0190a0b0-0000-7000-8000-000000000001""#;
        let id: PipelineId = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&id).unwrap(), text);
        assert!(serde_json::from_str::<OrganizationId>(text).is_err());
    }

    #[test]
    fn rejects_every_other_spelling() {
        for text in [
            "",
            "pip",
            "pip_",
            "0190a0b0-0000-7000-8000-000000000001",
            "org_0190a0b0-0000-7000-8000-000000000001",
            "pip_0190A0B0-0000-7000-8000-000000000001",
            "pip_0190a0b0000070008000000000000001",
            "pip_{0190a0b0-0000-7000-8000-000000000001}",
            "pip_urn:uuid:0190a0b0-0000-7000-8000-000000000001",
        ] {
            assert_eq!(text.parse::<PipelineId>(), Err(InvalidId { prefix: "pip" }), "{text}");
        }
    }
}
