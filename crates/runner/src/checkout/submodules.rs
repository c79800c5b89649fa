//! Checks out submodules, if the stage enables them. Their addresses come with the commit, so they are not
//! trusted: each has to be on a host that the stage lists, and is fetched as strictly as the repository
//! itself. git's own command for submodules, which runs what `.gitmodules` and `.git/config` contain, is not
//! used.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::CheckoutError;
use super::origin::Origin;
use super::program::Git;

/// The file with the addresses.
const FILE: &str = ".gitmodules";
/// How many submodules may be within each other.
pub(super) const MAX_DEPTH: usize = 8;
/// The limit of all submodules of a job.
pub(super) const MAX_COUNT: usize = 100;
/// How much of git's output is kept. A longer list may be incomplete.
const MAX_FILE_BYTES: usize = 16 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Submodule {
    /// The path in the workspace of its parent.
    pub(super) path: String,
    pub(super) repository: String,
    pub(super) commit_id: String,
}

/// Returns the submodules of a commit. Rejects addresses on hosts that are not listed, before anything connects
/// to them.
pub(super) async fn of_commit(
    git: &Git,
    parent: &str,
    commit: &str,
    hosts: &[String],
) -> Result<Vec<Submodule>, CheckoutError> {
    // Read from the commit: in the workspace the file could be a link.
    let blob = format!("{commit}:{FILE}");
    if git.run(&["cat-file", "-e", &blob]).await.is_err() {
        return Ok(Vec::new());
    }
    let fields = git.run(&["config", "--no-includes", "--null", "--list", "--blob", &blob]).await;
    let invalid = || CheckoutError::repository(format!("{FILE} is invalid, or too large"));
    let fields = fields.map_err(|error| invalid().with_source(error))?;
    if fields.len() >= MAX_FILE_BYTES {
        return Err(invalid());
    }
    let mut found = Vec::new();
    for (path, address) in addresses(&fields) {
        let entry = git.run(&["ls-tree", "-z", "--full-tree", commit, "--", &path]).await?;
        // What is not a submodule in the commit is ignored, as by git.
        let Some(commit_id) = link(&entry, &path) else { continue };
        let repository = resolve(parent, &address).filter(|address| is_listed(address, hosts));
        let Some(repository) = repository else { return Err(CheckoutError::host_not_allowed(&path)) };
        found.push(Submodule { path, repository, commit_id });
    }
    Ok(found)
}

/// Returns the commit of a submodule. An entry of `git ls-tree -z` is `<mode> <kind> <id>\t<path>`.
fn link(entry: &str, path: &str) -> Option<String> {
    let (head, found) = entry.trim_end_matches('\0').split_once('\t')?;
    let id = head.strip_prefix("160000 commit ")?;
    (found == path).then(|| id.to_owned())
}

/// Returns addresses by path. Each field of `git config --null` is `submodule.<name>.<key>\n<value>`.
fn addresses(fields: &str) -> BTreeMap<String, String> {
    let (mut paths, mut urls) = (BTreeMap::new(), BTreeMap::new());
    for (key, value) in fields.split('\0').filter_map(|field| field.split_once('\n')) {
        let Some((name, key)) = key.strip_prefix("submodule.").and_then(|rest| rest.rsplit_once('.')) else {
            continue;
        };
        match key {
            "path" => drop(paths.insert(name, value)),
            "url" => drop(urls.insert(name, value)),
            _ => {}
        }
    }
    let found =
        paths.into_iter().filter_map(|(name, path)| Some((path.to_owned(), (*urls.get(name)?).to_owned())));
    found.collect()
}

/// Resolves an address that is relative to that of the parent: `./x` and `../x`.
fn resolve(parent: &str, address: &str) -> Option<String> {
    if !address.starts_with("./") && !address.starts_with("../") {
        return Some(address.to_owned());
    }
    let (scheme, rest) = parent.split_once("://")?;
    let mut parts: Vec<&str> = rest.trim_end_matches('/').split('/').collect();
    let mut rest = address;
    loop {
        if let Some(after) = rest.strip_prefix("./") {
            rest = after;
        } else if let Some(after) = rest.strip_prefix("../") {
            rest = after;
            // The first part is the host, which must not be removed.
            if parts.len() < 2 {
                return None;
            }
            parts.pop();
        } else {
            break;
        }
    }
    (!parts.is_empty()).then(|| format!("{scheme}://{}/{rest}", parts.join("/")))
}

/// Returns whether the address is one of https on a listed host, without a user name. http is for this machine
/// only, as for credentials.
fn is_listed(address: &str, hosts: &[String]) -> bool {
    let is_plain = !address.contains(|letter: char| letter.is_control() || letter.is_whitespace());
    is_plain && Origin::parse(address).is_some_and(|origin| hosts.iter().any(|host| host == origin.host()))
}

/// Returns whether the folder of a submodule is within the workspace: neither it nor one of its parents is a link.
pub(super) fn is_within(workspace: &Path, path: &str) -> bool {
    let mut folder = workspace.to_owned();
    for part in Path::new(path).components() {
        let std::path::Component::Normal(part) = part else { return false };
        folder.push(part);
        if !std::fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir()) {
            return false;
        }
    }
    std::fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_hosts_are_allowed() {
        let hosts = ["git.test".to_owned(), "git.test:8443".to_owned()];
        for (address, is_allowed) in [
            ("https://git.test/team/lib", true),
            ("https://GIT.test:443/team/lib", true),
            ("https://git.test:8443/lib", true),
            ("https://evil.test/lib", false),
            ("https://git.test:9443/lib", false),
            ("https://git.test.evil.test/lib", false),
            ("https://git.test@evil.test/lib", false),
            ("https://bot:x@git.test/lib", false),
            ("http://git.test/lib", false),
            ("ssh://git@git.test/lib", false),
            ("git@git.test:lib", false),
            ("ext::sh -c id", false),
            ("file:///srv/lib", false),
            ("/srv/lib", false),
            ("-uid", false),
            ("https://git.test/lib\n", false),
        ] {
            assert_eq!(is_listed(address, &hosts), is_allowed, "{address}");
        }
    }

    #[test]
    fn relative_addresses_stay_on_the_host() {
        let parent = "https://git.test:8443/team/shop.git/";
        for (address, expected) in [
            ("../lib.git", Some("https://git.test:8443/team/lib.git")),
            ("./lib", Some("https://git.test:8443/team/shop.git/lib")),
            ("../../other/lib", Some("https://git.test:8443/other/lib")),
            ("../../../evil.test/lib", None),
            ("https://git.test/lib", Some("https://git.test/lib")),
        ] {
            assert_eq!(resolve(parent, address).as_deref(), expected, "{address}");
        }
        assert_eq!(resolve("git@git.test:team/shop", "../lib"), None);
    }

    #[test]
    fn the_output_of_git_is_parsed() {
        assert_eq!(link("160000 commit bb\tvendor/lib\0", "vendor/lib").as_deref(), Some("bb"));
        for entry in
            ["", "100644 blob aa\tvendor/lib\0", "040000 tree aa\tvendor/lib\0", "160000 commit bb\tother\0"]
        {
            assert_eq!(link(entry, "vendor/lib"), None);
        }
        let fields = "submodule.a.b.path\nvendor/lib\0submodule.a.b.url\n../lib\0submodule.a.b.update\n!id\0core.x\n1\0\
                      submodule.c.path\nno/url\0";
        assert_eq!(addresses(fields), BTreeMap::from([("vendor/lib".to_owned(), "../lib".to_owned())]));
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/empty")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("link")).unwrap();
        for (path, is_allowed) in [
            ("a/empty", true),
            ("a", false),
            ("link/empty", false),
            ("link", false),
            ("../x", false),
            ("/tmp", false),
            ("missing", false),
        ] {
            assert_eq!(is_within(folder.path(), path), is_allowed, "{path}");
        }
    }
}
