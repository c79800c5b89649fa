//! Signatures of tags.

use std::path::Path;

use greenroom_domain::step::StepTag;
use greenroom_domain::step_registry::AllowedSigner;
use greenroom_hostile_registries::keys::{Keys, annotate, sign, sign_as_file, signer_line};
use greenroom_hostile_registries::repository::Repository;
use greenroom_hostile_registries::signatures::TAG;
use greenroom_registry::{SignatureError, Signer, verify_signature};
use tempfile::TempDir;

/// A line of an allowed-signers file for this key.
fn signer(name: &str, options: &str, key: &Path) -> AllowedSigner {
    AllowedSigner::new(&signer_line(name, options, key)).unwrap()
}

async fn verify(object: &[u8], tag: &str, signers: &[AllowedSigner]) -> Result<Signer, SignatureError> {
    let folder = TempDir::new().unwrap();
    let result = verify_signature(object, &StepTag::parse(tag).unwrap(), signers, folder.path()).await;
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    result
}

#[tokio::test]
async fn a_signature_of_an_allowed_signer_counts() {
    let (repository, keys) = (Repository::with_step(), Keys::default());
    let (alice, bob) = (keys.create("alice"), keys.create("bob"));
    let signed = sign(&repository, TAG, &bob);
    let signers = [signer("alice@example.com", "", &alice), signer("bob@example.com", "", &bob)];
    assert_eq!(verify(&signed, TAG, &signers).await.unwrap().name, "bob@example.com");
    let error = verify(&signed, TAG, &signers[..1]).await.unwrap_err();
    assert!(matches!(error, SignatureError::UnknownKey), "{error:?}");
    let error = verify(&signed, TAG, &[]).await.unwrap_err();
    assert!(matches!(error, SignatureError::UnknownKey), "{error:?}");
}

#[tokio::test]
async fn a_tag_without_an_ssh_signature_is_refused() {
    let (repository, keys) = (Repository::with_step(), Keys::default());
    let signers = [signer("alice", "", &keys.create("alice"))];
    let unsigned = annotate(&repository, TAG);
    let error = verify(&unsigned, TAG, &signers).await.unwrap_err();
    assert!(matches!(error, SignatureError::Missing), "{error:?}");
    let pgp = [&unsigned[..], b"-----BEGIN PGP SIGNATURE-----\n\n-----END PGP SIGNATURE-----\n"].concat();
    let error = verify(&pgp, TAG, &signers).await.unwrap_err();
    assert!(matches!(error, SignatureError::NotSsh), "{error:?}");
    let empty = [&unsigned[..], b"-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----\n"].concat();
    for malformed in [&empty[..], b"", b"tree x"] {
        let error = verify(malformed, TAG, &signers).await.unwrap_err();
        assert!(matches!(error, SignatureError::Malformed), "{error:?}");
    }
}

#[tokio::test]
async fn a_signature_of_something_else_is_refused() {
    let (repository, keys) = (Repository::with_step(), Keys::default());
    let alice = keys.create("alice");
    let signers = [signer("alice", "", &alice)];
    let signed = sign(&repository, TAG, &alice);
    // The object of another tag.
    let error = verify(&signed, "roll-out/v3.0.0", &signers).await.unwrap_err();
    assert!(matches!(error, SignatureError::OtherTag), "{error:?}");
    // Its name or its commit is changed after it was signed.
    let text = String::from_utf8(signed).unwrap();
    let renamed = text.replace("v2.0.0", "v3.0.0");
    let commit = repository.git(&["rev-parse", "HEAD"]);
    let moved = text.replace(&commit, &"b".repeat(40));
    for (changed, tag) in [(renamed, "roll-out/v3.0.0"), (moved, TAG)] {
        assert_ne!(changed, text);
        let error = verify(changed.as_bytes(), tag, &signers).await.unwrap_err();
        assert!(matches!(error, SignatureError::Invalid), "{error:?}");
    }
}

#[tokio::test]
async fn a_signature_for_another_purpose_is_refused() {
    let (repository, keys) = (Repository::with_step(), Keys::default());
    let alice = keys.create("alice");
    let signed = sign_as_file(&keys, &alice, &annotate(&repository, TAG));
    let signers = [signer("alice", "", &alice)];
    let error = verify(&signed, TAG, &signers).await.unwrap_err();
    assert!(matches!(error, SignatureError::Namespace), "{error:?}");
}

#[tokio::test]
async fn a_key_counts_while_it_is_valid() {
    let (repository, keys) = (Repository::with_step(), Keys::default());
    let alice = keys.create("alice");
    let signed = sign(&repository, TAG, &alice);
    for options in ["valid-before=\"20200101Z\"", "valid-after=\"29990101Z\""] {
        let error = verify(&signed, TAG, &[signer("alice", options, &alice)]).await.unwrap_err();
        assert!(matches!(error, SignatureError::NotValidNow), "{options}: {error:?}");
    }
    let options = "valid-after=\"20200101Z\",valid-before=\"29990101Z\"";
    assert!(verify(&signed, TAG, &[signer("alice", options, &alice)]).await.is_ok());
}
