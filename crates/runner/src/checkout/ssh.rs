//! Reads the operator's ssh settings (`~/.ssh/config`) for a host.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SshHost {
    /// The name or address to connect to.
    pub(super) name: String,
    /// Connections go through a jump host or a proxy command of the operator, which resolves names itself.
    pub(super) is_proxied: bool,
}

/// Returns `None` if ssh can't be run.
pub(super) async fn settings_of(host: &str) -> Option<SshHost> {
    let mut command = Command::new("ssh");
    command.args(["-G", "--", host]).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(TIMEOUT, command.output()).await.ok()?.ok()?;
    output.status.success().then(|| parse(host, &String::from_utf8_lossy(&output.stdout)))
}

fn parse(host: &str, text: &str) -> SshHost {
    let mut found = SshHost { name: host.to_owned(), is_proxied: false };
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("hostname", name)) => found.name = name.trim().to_owned(),
            Some(("proxyjump" | "proxycommand", value)) if value.trim() != "none" => found.is_proxied = true,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_name_and_proxies_are_parsed() {
        let found = |text| parse("forge", text);
        let direct = |name: &str| SshHost { name: name.to_owned(), is_proxied: false };
        assert_eq!(found(""), direct("forge"));
        assert_eq!(found("user git\nhostname 10.1.2.3\nport 22\nproxycommand none\n"), direct("10.1.2.3"));
        assert!(found("hostname forge\nproxyjump bastion.test\n").is_proxied);
        assert!(found("hostname forge\nproxycommand nc %h %p\n").is_proxied);
    }
}
