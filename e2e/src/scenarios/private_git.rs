//! The git servers of a scenario with a private repository, all by https:
//!
//! - `private` requires a password, and serves `shop.git` and `hostile.git`;
//! - `library` requires another one, and serves `lib.git`, which `hostile.git` names as a submodule;
//! - `outside` requires none: it is the server of an attacker, and counts what it gets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::parts::git_server::GitServer;
use crate::parts::tls::Certificate;
use crate::scenarios::parts::Parts;
use crate::scenarios::repository::{self, Work};

const PRIVATE: &str = "private";
const LIBRARY: &str = "library";
const OUTSIDE: &str = "outside";
const LIB: &str = "lib.git";
const HOSTILE: &str = "hostile.git";
/// Steps look for passwords by this beginning.
const PASSWORD_PREFIX: &str = "lantern-";
const LETTERS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";

pub(crate) struct PrivateGit {
    certificate: Certificate,
    servers: BTreeMap<&'static str, GitServer>,
    passwords: BTreeMap<&'static str, String>,
    commits: BTreeMap<&'static str, String>,
}

impl PrivateGit {
    /// Starts the servers. A hostile commit that has its way writes to the file `ran` in `mark_folder`.
    pub(super) async fn start(parts: &Parts, slug: &str, mark_folder: &Path) -> anyhow::Result<Self> {
        let folder = parts.folder.join("private").join(slug);
        let root = folder.join("repositories");
        std::fs::create_dir_all(&root)?;
        let shop = parts.folder.join("repositories").join(repository::NAME);
        std::os::unix::fs::symlink(shop, root.join(repository::NAME))?;
        let certificate = Certificate::make(&folder).await?;
        let (mut servers, mut passwords) = (BTreeMap::new(), BTreeMap::new());
        for (name, user) in [(PRIVATE, Some("bot")), (LIBRARY, Some("lib")), (OUTSIDE, None)] {
            let credential = user.map(|user| {
                let password = new_password();
                passwords.insert(name, password.clone());
                format!("{user}:{password}")
            });
            servers.insert(name, GitServer::start_tls(&root, credential, &certificate).await?);
        }
        let mut git = Self { certificate, servers, passwords, commits: BTreeMap::new() };
        git.commits = git.make_repositories(&folder, &root, &mark_folder.join("ran")).await?;
        Ok(git)
    }

    /// Creates `lib.git` and `hostile.git`. Returns the commits of the latter.
    async fn make_repositories(
        &self,
        folder: &Path,
        root: &Path,
        mark: &Path,
    ) -> anyhow::Result<BTreeMap<&'static str, String>> {
        let lib = new_work(folder.join("lib")).await?;
        std::fs::write(lib.0.join("version"), "7\n")?;
        let lib_commit = commit_all(&lib).await?;
        clone_bare(&lib, &root.join(LIB)).await?;

        let (outside, library) = (self.server(OUTSIDE)?.host(), self.server(LIBRARY)?.host());
        let submodules = [
            ("other-host", format!("https://{outside}/{LIB}")),
            // The listed host is the user name here.
            ("disguised-host", format!("https://{library}@{outside}/{LIB}")),
            ("with-user", format!("https://lib@{library}/{LIB}")),
            // `ext::` runs a command. A blank that belongs to an argument is written as `% `.
            ("command", format!("ext::sh -c echo% command>>{}", mark.display())),
            ("local-file", format!("file://{}", root.join(LIB).display())),
            ("listed-host", format!("https://{library}/{LIB}")),
        ];
        let hostile = new_work(folder.join("hostile")).await?;
        std::fs::write(hostile.0.join("version"), "1\n")?;
        let base = commit_all(&hostile).await?;
        let mut commits = BTreeMap::new();
        for (name, address) in submodules {
            hostile.git(&["checkout", "--quiet", "-b", name, &base]).await?;
            let update = format!("!echo update>>{}", mark.display());
            let modules = format!(
                "[submodule \"lib\"]\n\tpath = lib\n\turl = \"{address}\"\n\tupdate = \"{update}\"\n"
            );
            std::fs::write(hostile.0.join(".gitmodules"), modules)?;
            hostile.git(&["add", ".gitmodules"]).await?;
            let link = format!("160000,{lib_commit},lib");
            hostile.git(&["update-index", "--add", "--cacheinfo", &link]).await?;
            commits.insert(name, commit(&hostile).await?);
        }
        hostile.git(&["checkout", "--quiet", "-b", "large-files", &base]).await?;
        for (file, text) in [
            (".lfsconfig", format!("[lfs]\n\turl = https://{outside}/lfs\n")),
            (".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n".to_owned()),
            ("large.bin", large_file_pointer()),
        ] {
            std::fs::write(hostile.0.join(file), text)?;
        }
        commits.insert("large-files", commit_all(&hostile).await?);
        clone_bare(&hostile, &root.join(HOSTILE)).await?;
        Ok(commits)
    }

    pub(super) fn certificate(&self) -> PathBuf {
        self.certificate.file.clone()
    }

    pub(super) fn server(&self, name: &str) -> anyhow::Result<&GitServer> {
        let known = || format!("no git server is called `{name}`; there are {PRIVATE}, {LIBRARY}, {OUTSIDE}");
        self.servers.get(name).with_context(known)
    }

    pub(super) fn password(&self, name: &str) -> anyhow::Result<String> {
        self.passwords.get(name).cloned().with_context(|| format!("`{name}` has no password"))
    }

    pub(super) fn private_url(&self) -> anyhow::Result<String> {
        Ok(self.server(PRIVATE)?.url(repository::NAME, None))
    }

    pub(super) fn hostile_url(&self) -> anyhow::Result<String> {
        Ok(self.server(PRIVATE)?.url(HOSTILE, None))
    }

    /// Returns a commit of `hostile.git` by its name.
    pub(super) fn commit(&self, name: &str) -> Option<String> {
        self.commits.get(name).cloned()
    }

    /// Replaces `@PRIVATE_GIT@`, `@LIBRARY_GIT@` and `@OUTSIDE_GIT@` with host and port.
    pub(super) fn fill_definition(&self, text: String) -> String {
        self.servers.iter().fold(text, |text, (name, server)| {
            text.replace(&format!("@{}_GIT@", name.to_uppercase()), server.host())
        })
    }
}

/// Returns a password that occurs nowhere else.
fn new_password() -> String {
    let letter = |_| char::from(LETTERS[rand::random_range(0..LETTERS.len())]);
    PASSWORD_PREFIX.chars().chain((0..24).map(letter)).collect()
}

/// Returns what a repository has in place of a file in LFS.
fn large_file_pointer() -> String {
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 1\n", "0".repeat(64))
}

async fn new_work(folder: PathBuf) -> anyhow::Result<Work> {
    std::fs::create_dir_all(&folder)?;
    let work = Work(folder);
    work.git(&["init", "--quiet", "--initial-branch=main"]).await?;
    Ok(work)
}

async fn commit_all(work: &Work) -> anyhow::Result<String> {
    // The filter of large files is not installed, or must not run.
    work.git(&["-c", "filter.lfs.clean=", "-c", "filter.lfs.required=false", "add", "--all"]).await?;
    commit(work).await
}

async fn commit(work: &Work) -> anyhow::Result<String> {
    work.git(&["commit", "--quiet", "--message", "hostile"]).await?;
    work.git(&["rev-parse", "HEAD"]).await
}

async fn clone_bare(work: &Work, bare: &Path) -> anyhow::Result<()> {
    let (from, to) = (work.0.to_string_lossy(), bare.to_string_lossy());
    work.git(&["clone", "--quiet", "--bare", &from, &to]).await.map(drop)
}
