//! Processes of steps, found by an environment variable that every step of a run has, and no other process.

/// Returns the running processes that have `variable`, as `NAME=value`, in their environment.
pub(crate) fn processes_with(variable: &str) -> Vec<u32> {
    let has = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|own| own == variable.as_bytes())
    };
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(has).filter(|pid| !is_dead(*pid)).collect()
}

/// Returns the command line of the process.
pub(crate) fn command_line(pid: u32) -> String {
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&arguments).replace('\0', " ")
}

fn is_dead(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
}
