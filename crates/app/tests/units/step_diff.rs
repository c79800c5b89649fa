//! What has changed between two versions of a step.

use greenroom_app::step_registry::diff::unified_diff;

#[test]
fn a_diff_is_unified_and_bounded() {
    assert_eq!(unified_diff("a\nb\n", "a\nb\n"), "");
    assert_eq!(unified_diff("a\nb\n", "a\nc\n"), "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    assert_eq!(unified_diff("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
    // Two texts with nothing in common, of the maximum size.
    let lines = |prefix: char| (0..30_000).map(|n| format!("{prefix}{n}\n")).collect::<String>();
    let diff = unified_diff(&lines('a'), &lines('b'));
    assert!(diff.contains("-a0\n") && diff.contains("+b29999\n"));
}
