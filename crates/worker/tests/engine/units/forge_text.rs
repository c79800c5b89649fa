//! Texts of a forge are cleaned, and ours are encoded.

use greenroom_worker::internals::{clean, encode, is_commit_id, is_revision};

#[test]
fn texts_of_a_forge_are_bounded_and_show_no_token() {
    for (text, expected) in [
        ("plain text", "plain text"),
        ("two\nlines\r\n\tand a tab", "two lines and a tab"),
        ("\u{1b}[31mred\u{202e}\u{200b}", "[31mred"),
        ("Bad credentials: tok-123", "Bad credentials: ***"),
        ("tok\u{200b}-123 and tok-\u{ad}123", "*** and ***"),
        ("", ""),
    ] {
        assert_eq!(clean(text, "tok-123", 100), expected, "{text:?}");
    }
    assert_eq!(clean(&"ä".repeat(1_000_000), "t", 200).chars().count(), 200);
    let late = format!("{}tok-123", "x".repeat(98));
    assert!(!clean(&late, "tok-123", 100).contains("to"));
}

#[test]
fn a_branch_stays_in_its_segment() {
    assert_eq!(encode("fix/a b?c#d%2e../ä"), "fix%2Fa%20b%3Fc%23d%252e..%2F%C3%A4");
    for good in ["main", "fix/checkout", "release-1.0", "ä", "0123abc", "a@b"] {
        assert!(is_revision(good), "{good}");
    }
    for bad in ["", "..", "a/../b", "/a", "a/", ".a", "-a", "a b", "a\nb", "a:b", "a?b", "a\\b", "a...b"] {
        assert!(!is_revision(bad), "{bad}");
    }
    assert!(is_commit_id(&"a1".repeat(20)) && !is_commit_id("abc") && !is_commit_id(&"g".repeat(40)));
}
