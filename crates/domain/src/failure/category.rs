//! What a failure is about.

use crate::text_enum::text_enum;

/// The subject of a failure, decided by rules from the decisive lines of its log, the exit code and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// A compiler, type checker or linker rejects the source.
    Compile,
    /// A test or an assertion fails.
    Test,
    /// A package, an image or a module can't be resolved or installed.
    Dependency,
    /// A setting, a file, a variable, a credential or an argument is missing or wrong.
    Configuration,
    /// A host can't be reached: names, connections, TLS, HTTP errors of a remote service.
    Network,
    /// A database rejects a statement or a migration, or can't be reached.
    Database,
    /// Memory, disk, file descriptors or another quota is exhausted.
    Resource,
    /// Something did not end, or did not become ready, in time.
    Timeout,
    /// Greenroom itself failed: a runner was lost, or none took the job.
    Platform,
    /// A check of quality or policy refuses the change: lint, format, coverage, licences, vulnerabilities.
    Gate,
    /// No rule applies.
    Unknown,
}

text_enum!(Category {
    Compile = "compile",
    Test = "test",
    Dependency = "dependency",
    Configuration = "configuration",
    Network = "network",
    Database = "database",
    Resource = "resource",
    Timeout = "timeout",
    Platform = "platform",
    Gate = "gate",
    Unknown = "unknown",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_category_is_read_back_from_its_text() {
        for category in Category::ALL {
            assert_eq!(category.as_str().parse(), Ok(*category));
        }
        assert!("flaky".parse::<Category>().is_err());
    }
}
