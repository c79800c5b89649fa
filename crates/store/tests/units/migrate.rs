//! What the operator reads about a schema that does not match.

use greenroom_store::system::migrate::Schema;

#[test]
fn a_schema_mismatch_is_described_in_one_line() {
    let schema = |missing: &[i64], changed: &[i64], newer: &[i64]| {
        let (missing, changed, newer) = (missing.to_vec(), changed.to_vec(), newer.to_vec());
        Schema { missing, changed, newer }.problem()
    };
    assert_eq!(schema(&[], &[], &[]), None);
    assert_eq!(schema(&[], &[], &[19, 20]), None, "a newer version is being rolled out");
    assert_eq!(
        schema(&[18], &[], &[]).as_deref(),
        Some("the database lacks migration 0018: run `greenroomd migrate up` with this version")
    );
    assert_eq!(
        schema(&[1, 2, 3], &[], &[]).as_deref(),
        Some(
            "the database lacks 3 migrations, from 0001 to 0003: run `greenroomd migrate up` with this version"
        )
    );
    assert!(schema(&[], &[5], &[]).is_some_and(|problem| problem.contains("0005")));
}
