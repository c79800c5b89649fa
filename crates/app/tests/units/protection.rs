//! Which repositories are the same.

use greenroom_app::protection::is_other_repository;

#[test]
fn another_spelling_is_the_same_repository() {
    let (https, ssh) = ("https://git.test/acme/shop.git", "git@git.test:acme/shop");
    for (before, after, expected) in [
        (None, None, false),
        (None, Some(https), false),
        (Some(https), Some(https), false),
        (Some(https), Some(ssh), false),
        (Some(https), Some("https://git.test/me/shop"), true),
        (Some(https), None, true),
    ] {
        assert_eq!(is_other_repository(before, after), expected, "{before:?} {after:?}");
    }
}
