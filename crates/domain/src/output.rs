//! Outputs of steps: small texts that later stages get as environment variables. The limits follow from what
//! the Linux kernel passes to a program: 128 KiB for one variable, and about 2 MiB for all variables and
//! arguments together.

/// The maximum length of the name of an output.
pub const MAX_NAME_BYTES: usize = 128;
/// The maximum length of the value of an output.
pub const MAX_VALUE_BYTES: usize = 32 * 1024;
/// The maximum size of all outputs of a deployment's current attempts, as the variables that later stages
/// get.
pub const MAX_DEPLOYMENT_BYTES: usize = 256 * 1024;
/// The size of a variable in addition to stage, name and value: `GREENROOM_OUTPUT_`, two separators and the
/// terminating NUL.
pub const VARIABLE_OVERHEAD_BYTES: usize = 20;

/// Why an output is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidOutput {
    #[error(
        "has a name that isn't one: letters, digits and `_`, not a digit first, {MAX_NAME_BYTES} at most"
    )]
    Name,
    #[error("is longer than {} KiB", MAX_VALUE_BYTES / 1024)]
    TooLong,
    #[error("contains a control character other than tab and newline")]
    Control,
}

/// Checks the name and the value of one output.
pub fn check(name: &str, value: &str) -> Result<(), InvalidOutput> {
    if !is_name(name) {
        return Err(InvalidOutput::Name);
    }
    if value.len() > MAX_VALUE_BYTES {
        return Err(InvalidOutput::TooLong);
    }
    if value.chars().any(|character| character.is_control() && !matches!(character, '\t' | '\n')) {
        return Err(InvalidOutput::Control);
    }
    Ok(())
}

/// Returns how much of [`MAX_DEPLOYMENT_BYTES`] an output of a stage uses.
pub const fn variable_bytes(stage: &str, name: &str, value: &str) -> usize {
    stage.len() + name.len() + value.len() + VARIABLE_OVERHEAD_BYTES
}

fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.len() <= MAX_NAME_BYTES
        && name.bytes().all(is_allowed)
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_values_and_their_limits() {
        let (long_name, long_value) = ("a".repeat(129), "x".repeat(32 * 1024 + 1));
        for (name, value, expected) in [
            ("version", "1.2", Ok(())),
            ("_x9", "", Ok(())),
            ("lines", "one\ntwo\tthree", Ok(())),
            ("bidi", "a\u{202e}b", Ok(())),
            (&long_name[..128], &long_value[..32 * 1024], Ok(())),
            ("", "1", Err(InvalidOutput::Name)),
            ("9x", "1", Err(InvalidOutput::Name)),
            ("a-b", "1", Err(InvalidOutput::Name)),
            ("ä", "1", Err(InvalidOutput::Name)),
            ("a\u{0}", "1", Err(InvalidOutput::Name)),
            (&long_name, "1", Err(InvalidOutput::Name)),
            ("a", &long_value, Err(InvalidOutput::TooLong)),
            ("a", "b\u{0}c", Err(InvalidOutput::Control)),
            ("a", "b\u{1b}[2J", Err(InvalidOutput::Control)),
            ("a", "b\rc", Err(InvalidOutput::Control)),
            ("a", "b\u{85}c", Err(InvalidOutput::Control)),
        ] {
            assert_eq!(check(name, value), expected, "{name:.10}");
        }
    }

    #[test]
    fn the_overhead_is_that_of_a_real_variable() {
        let variable = "GREENROOM_OUTPUT_BUILD_version=1.2\0";
        assert_eq!(variable_bytes("build", "version", "1.2"), variable.len());
    }
}
