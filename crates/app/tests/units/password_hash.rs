//! Hashes of passwords.

use greenroom_app::failure::Code;
use greenroom_app::internals::password_hash::{hash, verify};
use greenroom_domain::password::Password;

#[tokio::test]
async fn only_the_password_itself_matches() {
    let text = "orbit-lantern-quartz-42";
    let stored = hash(Password::new(text).unwrap(), Vec::new()).await.unwrap();
    assert!(verify(text.to_owned(), Some(stored.clone())).await.unwrap());
    for wrong in ["orbit-lantern-quartz-43", "Orbit-lantern-quartz-42", "orbit-lantern-quartz-42 ", ""] {
        assert!(!verify(wrong.to_owned(), Some(stored.clone())).await.unwrap(), "{wrong}");
    }
    assert!(!verify(text.to_owned(), None).await.unwrap());
    let again = hash(Password::new(text).unwrap(), Vec::new()).await.unwrap();
    assert_ne!(again.hash, stored.hash, "each hash has its own salt");
}

#[tokio::test]
async fn passwords_that_are_easy_to_guess_are_rejected() {
    let related = vec!["ada.lovelace@example.com".to_owned(), "Ada Lovelace".to_owned()];
    for weak in ["password1234", "aaaaaaaaaaaaaa", "qwertyuiop12", "Ada Lovelace"] {
        let hashed = hash(Password::new(weak).unwrap(), related.clone()).await;
        assert_eq!(hashed.err().map(|failure| failure.code), Some(Code::InvalidRequest), "{weak}");
    }
}
