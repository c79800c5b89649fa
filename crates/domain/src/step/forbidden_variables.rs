//! Variables that can't be set on a step of a registry, neither by its user nor as a secret that it expects.
//!
//! The content of a step is pinned by its digest, and that is what people approve. These variables make a loader, a
//! shell or an interpreter run other code before the first line of the step's script, or change how the script is read.
//! Its author can still set any of them in the script itself. Variables of single tools, such as `GIT_SSH_COMMAND`, are
//! allowed: a list of them would never be complete, and some are useful.

const LOADER: &str = "the dynamic loader or the C library loads code or configuration from it";
const SHELL: &str = "shells run it, or read scripts differently because of it";
const SEARCH: &str = "it decides which program a command name starts";
const INTERPRETER: &str = "an interpreter loads code or takes options from it";
const PLATFORM: &str = "names with `GREENROOM_` are Greenroom's own";

/// Names, or prefixes that end in `*`, with the reason as a clause.
const FORBIDDEN: &[(&str, &str)] = &[
    ("GREENROOM_*", PLATFORM),
    // `LD_PRELOAD`, `LD_AUDIT`, `LD_LIBRARY_PATH`, and the same of macOS.
    ("LD_*", LOADER),
    ("DYLD_*", LOADER),
    // What glibc itself ignores for programs with more rights than their user.
    ("GLIBC_TUNABLES", LOADER),
    ("GCONV_PATH", LOADER),
    ("GETCONF_DIR", LOADER),
    ("HOSTALIASES", LOADER),
    ("LOCPATH", LOADER),
    ("MALLOC_TRACE", LOADER),
    ("NLSPATH", LOADER),
    ("RESOLV_HOST_CONF", LOADER),
    ("RES_OPTIONS", LOADER),
    // `PATH` of commands, `CDPATH` of `cd`, `FPATH` of functions.
    ("PATH", SEARCH),
    ("CDPATH", SEARCH),
    ("FPATH", SEARCH),
    // Programs start `$SHELL` for commands of their own.
    ("SHELL", SHELL),
    // Files that are run before a script.
    ("BASH_ENV", SHELL),
    ("ENV", SHELL),
    ("ZDOTDIR", SHELL),
    // Exported functions replace commands.
    ("BASH_FUNC_*", SHELL),
    ("BASH_LOADABLES_PATH", SHELL),
    ("BASH_COMPAT", SHELL),
    ("BASH_XTRACEFD", SHELL),
    // `set` and `shopt` options, such as `xtrace`, which prints secrets.
    ("SHELLOPTS", SHELL),
    ("BASHOPTS", SHELL),
    ("POSIXLY_CORRECT", SHELL),
    ("IFS", SHELL),
    ("GLOBIGNORE", SHELL),
    ("EXECIGNORE", SHELL),
    // Prompts are expanded, with command substitution.
    ("PROMPT_COMMAND", SHELL),
    ("PS0", SHELL),
    ("PS1", SHELL),
    ("PS2", SHELL),
    ("PS4", SHELL),
    // A step whose script is `python main.py` is as open to these as a shell is to `BASH_ENV`.
    ("PYTHONPATH", INTERPRETER),
    ("PYTHONHOME", INTERPRETER),
    ("PYTHONSTARTUP", INTERPRETER),
    ("PYTHONUSERBASE", INTERPRETER),
    ("PERL5LIB", INTERPRETER),
    ("PERLLIB", INTERPRETER),
    ("PERL5OPT", INTERPRETER),
    ("PERL5DB", INTERPRETER),
    ("RUBYOPT", INTERPRETER),
    ("RUBYLIB", INTERPRETER),
    ("NODE_OPTIONS", INTERPRETER),
    ("NODE_PATH", INTERPRETER),
    ("JAVA_TOOL_OPTIONS", INTERPRETER),
    ("JDK_JAVA_OPTIONS", INTERPRETER),
    ("_JAVA_OPTIONS", INTERPRETER),
    ("CLASSPATH", INTERPRETER),
    ("LUA_INIT*", INTERPRETER),
    ("LUA_PATH*", INTERPRETER),
    ("LUA_CPATH*", INTERPRETER),
    ("PHPRC", INTERPRETER),
    ("PHP_INI_SCAN_DIR", INTERPRETER),
];

/// Returns why a variable can't be set on a step of a registry; `None` if it can.
pub fn forbidden_variable(name: &str) -> Option<&'static str> {
    let matches = |pattern: &str| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    };
    FORBIDDEN.iter().find(|(pattern, _)| matches(pattern)).map(|(_, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table() {
        for forbidden in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "LD_AUDIT",
            "DYLD_INSERT_LIBRARIES",
            "GLIBC_TUNABLES",
            "BASH_ENV",
            "ENV",
            "PATH",
            "IFS",
            "SHELLOPTS",
            "BASHOPTS",
            "PS4",
            "PROMPT_COMMAND",
            "BASH_FUNC_ls%%",
            "GREENROOM_FENCE",
            "GREENROOM_INPUT_REPLICAS",
            "PYTHONPATH",
            "NODE_OPTIONS",
            "LUA_INIT_5_4",
        ] {
            assert!(forbidden_variable(forbidden).is_some(), "{forbidden}");
        }
        // Names of variables are case-sensitive.
        for allowed in [
            "DEPLOY_KEY",
            "KUBECONFIG",
            "ENVIRONMENT",
            "MY_PATH",
            "PATHS",
            "path",
            "LDAP_URL",
            "HOME",
            "LANG",
            "",
        ] {
            assert_eq!(forbidden_variable(allowed), None, "{allowed}");
        }
    }
}
