//! Credentials of registries: which one an image can have, and how the engine gets it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use bollard::Docker;
use greenroom_domain::secret::{Usage, UsageKind};
use serde_json::json;
use zeroize::Zeroizing;

use crate::credential::Credential;

const HEADER: &str = "x-registry-auth";

/// Returns the host of an image's registry. `None` if the name has none: which registries the engine then tries
/// is decided by its configuration, so none of them gets a credential.
pub(super) fn host(image: &str) -> Option<String> {
    let (host, _) = image.split_once('/')?;
    // Otherwise it is the first part of a name, as in `team/app`. `localhost/…` is never pulled.
    if !host.contains(['.', ':']) {
        return None;
    }
    Some(Usage::new(UsageKind::Registry, host).ok()?.host)
}

/// Returns a client whose requests have the credential. Only for pulling an image from this host.
pub(super) fn with_credential(docker: &Docker, host: &str, credential: &Credential) -> Docker {
    let header = header(host, credential);
    docker.clone().with_request_modifier(move |mut request| {
        let headers = request.headers_mut();
        if let Ok(value) = header.as_str().try_into() {
            headers.insert(HEADER, value);
        }
        if let Some(value) = headers.get_mut(HEADER) {
            value.set_sensitive(true);
        }
        request
    })
}

/// The engines decode the alphabet of URLs only.
fn header(host: &str, credential: &Credential) -> Zeroizing<String> {
    let (username, password) = (credential.username(), credential.password());
    let json = json!({ "username": username, "password": password, "serveraddress": host });
    Zeroizing::new(URL_SAFE.encode(Zeroizing::new(json.to_string()).as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_with_a_host_has_a_registry() {
        for (image, expected) in [
            ("registry.test/team/app:1", Some("registry.test")),
            ("Registry.Test:443/app", Some("registry.test")),
            ("registry.test:5000/app@sha256:00", Some("registry.test:5000")),
            ("localhost:5000/app", Some("localhost:5000")),
            ("docker.io/team/app", Some("docker.io")),
            // The engine decides where it looks for these.
            ("alpine", None),
            ("alpine:3.20", None),
            ("team/app:1", None),
            ("localhost/app", None),
            ("bot@registry.test/app", None),
            ("registry.test?x/app", None),
            ("/registry.test/app", None),
            ("sha256:0123", None),
        ] {
            assert_eq!(host(image).as_deref(), expected, "{image}");
        }
    }

    #[test]
    fn the_header_has_the_alphabet_of_urls() {
        for password in ["hunter>>>22", "hunter???22", "hunter~~~22", "hünter\"\\22"] {
            let credential = Credential::parse("key", format!("bot:{password}").as_bytes()).ok().unwrap();
            let header = header("registry.test", &credential);
            assert!(!header.contains(['+', '/']), "{password}");
            let decoded: serde_json::Value =
                serde_json::from_slice(&URL_SAFE.decode(header.as_bytes()).unwrap()).unwrap();
            assert_eq!(decoded["password"], password);
        }
    }
}
