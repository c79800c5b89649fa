//! URLs of Git repositories that a runner can fetch from, without credentials.

use std::borrow::Cow;
use std::fmt;

use url::Url;

use crate::text::{InvalidText, Named, Text};

const MAX_CHARACTERS: usize = 500;
/// Replaces the user name and password in a masked URL.
const MASK: &str = "***";

/// A URL without credentials: `https://host/path`, `ssh://git@host/path` or `git@host:path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRepository {
    #[error(transparent)]
    Text(#[from] InvalidText),
    #[error(
        "must not contain a user name or password, which every member could read; create a secret with \
         `use: {{kind: checkout}}` (see docs/secrets.md), or use ssh with the runner's deploy key, such as \
         git@host:team/project.git"
    )]
    Credentials,
    #[error(
        "must not contain `?` or `#`: a repository needs no query and no fragment, and a token in one could be read by \
         every member; remove what follows, and create a secret with `use: {{kind: checkout}}` if the repository is \
         private (see docs/secrets.md)"
    )]
    Query,
    #[error(
        "must be an address that a runner can fetch from: https://host/path, ssh://git@host/path or git@host:path"
    )]
    Unreachable,
}

impl Repository {
    pub fn new(text: &str) -> Result<Self, InvalidRepository> {
        let text = Text::<Named, MAX_CHARACTERS>::new(text)?.into_string();
        let url = parse(&text).ok_or(InvalidRepository::Unreachable)?;
        // ssh needs a user name, which is not a secret; usually `git`.
        if url.password().is_some() || (url.scheme() != "ssh" && !url.username().is_empty()) {
            return Err(InvalidRepository::Credentials);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidRepository::Query);
        }
        let known = matches!(url.scheme(), "http" | "https" | "ssh");
        let host = url.host_str().unwrap_or_default();
        // ssh would interpret a host that starts with a hyphen as an option.
        let host_is_name = !host.is_empty() && !host.starts_with('-') && !url.username().starts_with('-');
        if known && host_is_name && !url.path().trim_matches('/').is_empty() {
            Ok(Self(text))
        } else {
            Err(InvalidRepository::Unreachable)
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Masks the credentials in a URL, and its query and fragment, which may contain some. The database still contains
/// such URLs, which were accepted earlier.
pub fn masked(address: &str) -> Cow<'_, str> {
    let Some(url) = parse(address) else { return Cow::Borrowed(address) };
    let has_userinfo = url.password().is_some() || (url.scheme() != "ssh" && !url.username().is_empty());
    let has_query = url.query().is_some() || url.fragment().is_some();
    if !has_userinfo && !has_query {
        return Cow::Borrowed(address);
    }
    let separator = address.find(['?', '#']).unwrap_or(address.len());
    let (place, query) = address.split_at_checked(separator).unwrap_or_default();
    let userinfo = || {
        let (before, rest) = place.split_once("://").unwrap_or(("", place));
        let authority = rest.split('/').next()?;
        let (_, host) = authority.rsplit_once('@')?;
        let after = rest.get(authority.len()..)?;
        let scheme = if before.is_empty() { String::new() } else { format!("{before}://") };
        Some(format!("{scheme}{MASK}@{host}{after}"))
    };
    let place = if has_userinfo { userinfo() } else { Some(place.to_owned()) };
    let mark = query.chars().next().map(|mark| format!("{mark}{MASK}")).unwrap_or_default();
    Cow::Owned(place.map_or_else(|| MASK.to_owned(), |place| place + &mark))
}

/// Returns what all spellings of a repository's address have in common: its host and path. Scheme, user, port,
/// case, slashes at the ends and `.git` make no difference. Two repositories that a forge distinguishes only
/// by one of these have the same identity, so it is for lookups and not for keys.
pub fn identity(address: &str) -> Option<String> {
    let url = parse(address.trim())?;
    let path = url.path().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    let host = url.host_str().filter(|host| !host.is_empty())?;
    (!path.is_empty()).then(|| format!("{host}/{path}").to_lowercase())
}

/// Also parses the short form of ssh, `git@host:path`, as Git does: a colon before the first slash.
pub(crate) fn parse(text: &str) -> Option<Url> {
    if text.contains("://") {
        return Url::parse(text).ok();
    }
    let (place, path) = text.split_once(':')?;
    if place.contains('/') || path.starts_with(':') || place.eq_ignore_ascii_case("file") {
        return None;
    }
    // `name:password@host:path` has its `@` after the first colon.
    match path.split('/').next().and_then(|first| first.split_once('@')) {
        Some((password, rest)) => {
            Url::parse(&format!("ssh://{place}:{password}@{}", rest.replacen(':', "/", 1)))
        }
        None => Url::parse(&format!("ssh://{place}/{path}")),
    }
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_repository_have_one_identity() {
        for spelling in [
            "https://git.test/team/shop",
            "https://git.test/team/shop.git",
            "https://git.test/team/shop.git/",
            "https://git.test:8443/Team/Shop",
            "https://ada:secret@git.test/team/shop.git",
            "http://GIT.test//team/shop",
            "ssh://git@git.test/team/shop.git",
            "ssh://git@git.test:2222/team/shop",
            "ssh://git.test/team/shop",
            "git@git.test:team/shop.git",
            "git@git.test:/team/shop",
            "git.test:team/shop",
            " https://git.test/team/shop\n",
        ] {
            assert_eq!(identity(spelling).as_deref(), Some("git.test/team/shop"), "{spelling}");
        }
        for other in ["https://git.test/team/shop2", "https://git2.test/team/shop", "git@git.test:shop"] {
            assert_ne!(identity(other).as_deref(), Some("git.test/team/shop"), "{other}");
        }
        for nothing in
            ["", "shop", "/srv/git/shop", "https://git.test", "https://git.test/.git", "https:///shop"]
        {
            assert_ne!(identity(nothing).as_deref(), Some("git.test/team/shop"), "{nothing}");
        }
        assert_eq!(identity("https://git.test/"), None);
    }

    #[test]
    fn only_urls_that_a_runner_can_fetch_are_accepted() {
        for good in [
            "https://git.test/team/shop.git",
            "http://127.0.0.1:3000/shop",
            "https://git.test/a@b",
            "ssh://git@git.test/team/shop.git",
            "ssh://git@git.test:2222/shop",
            "ssh://git.test/shop",
            "git@git.test:team/shop.git",
            "git.test:shop.git",
            "git@git.test:22/shop.git",
        ] {
            assert_eq!(Repository::new(good).map(|found| found.to_string()), Ok(good.to_owned()), "{good}");
            assert_eq!(masked(good), good);
        }
        for bad in [
            "git.test/shop",
            "elsewhere",
            "/srv/git/shop.git",
            "./shop",
            "../shop",
            "file:///srv/git/shop.git",
            "file://git.test/shop",
            "file:/srv/shop",
            "ext::sh -c id",
            "git://git.test/shop",
            "ftp://git.test/shop",
            "https://",
            "https://git.test",
            "https:///shop",
            "--upload-pack=id",
            "-oProxyCommand=id:shop",
            "ssh://-oProxyCommand=id/shop",
            "git@git.test:",
        ] {
            assert_eq!(Repository::new(bad), Err(InvalidRepository::Unreachable), "{bad}");
        }
        for hidden in ["https://git.test/\u{202e}x", "https://git.te\u{ad}st/x"] {
            assert!(matches!(Repository::new(hidden), Err(InvalidRepository::Text(_))));
        }
        assert!(matches!(Repository::new(" "), Err(InvalidRepository::Text(InvalidText::Empty))));
    }

    #[test]
    fn credentials_are_rejected_and_masked() {
        for (bad, shown) in [
            ("https://user@git.test/shop", "https://***@git.test/shop"),
            ("https://user:hunter2@git.test/shop", "https://***@git.test/shop"),
            ("https://:token@git.test/shop?a#b", "https://***@git.test/shop?***"),
            ("https://us%65r:p%40ss@git.test:8443/shop", "https://***@git.test:8443/shop"),
            ("http://a@b@git.test/shop", "http://***@git.test/shop"),
            ("HTTPS://user:pw@git.test/shop", "HTTPS://***@git.test/shop"),
            ("ssh://git:hunter2@git.test/shop", "ssh://***@git.test/shop"),
            ("git:hunter2@git.test:shop", "***@git.test:shop"),
        ] {
            assert_eq!(Repository::new(bad), Err(InvalidRepository::Credentials), "{bad}");
            assert_eq!(masked(bad), shown);
        }
        let text = InvalidRepository::Credentials.to_string();
        assert!(text.contains("ssh") && text.contains("deploy key"));
    }
    #[test]
    fn queries_and_fragments_are_rejected_and_masked() {
        for (bad, shown) in [
            ("https://git.test/shop.git?private_token=hunter2", "https://git.test/shop.git?***"),
            ("https://git.test/shop?hunter2#b", "https://git.test/shop?***"),
            ("https://git.test/shop#hunter2", "https://git.test/shop#***"),
            ("https://git.test/shop?", "https://git.test/shop?***"),
            ("https://git.test?hunter2/shop", "https://git.test?***"),
            ("ssh://git@git.test/shop?hunter2", "ssh://git@git.test/shop?***"),
            ("git@git.test:shop#hunter2", "git@git.test:shop#***"),
        ] {
            assert_eq!(Repository::new(bad), Err(InvalidRepository::Query), "{bad}");
            assert_eq!(masked(bad), shown);
        }
        let text = InvalidRepository::Query.to_string();
        assert!(text.contains("kind: checkout") && text.contains("remove what follows"));
    }
}
