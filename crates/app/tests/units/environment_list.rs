//! Templates in pages of environments.

use greenroom_app::environment_list::places_of_templates;
use greenroom_store::page::{Page, Total};

#[test]
fn templates_follow_the_environments() {
    let places = |offset, limit, environments| {
        let Page { offset, limit } =
            places_of_templates(Page { offset, limit }, Total::exactly(environments));
        (offset, limit)
    };
    assert_eq!(places(0, 20, 0), (0, 20));
    assert_eq!(places(0, 20, 5), (0, 15));
    assert_eq!(places(0, 20, 20), (0, 0));
    assert_eq!(places(0, 20, 100), (0, 0));
    assert_eq!(places(4, 2, 5), (0, 1));
    assert_eq!(places(5, 2, 5), (0, 2));
    assert_eq!(places(6, 2, 5), (1, 2));
    assert_eq!(places(i64::MAX, 100, 5), (i64::MAX - 5, 100));
    let capped = Total { count: 10_000, capped: true };
    assert_eq!(places_of_templates(Page { limit: 20, offset: 10_000 }, capped).limit, 0);
}
