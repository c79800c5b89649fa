use serde_json::json;

use super::*;
use crate::fault::outages::expected::{Left, Party, Request};

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn party(number: u128, right: Right) -> Party {
    Party { session: id(number), right, left: Left::exactly(30.0), stay: 120.0, lease: 60.0 }
}

fn row(number: u128, status: &str, fence: Option<i64>, held: Option<(i64, Option<i64>)>) -> Stored {
    Stored {
        environment: "away-1".to_owned(),
        session: id(number),
        status: status.to_owned(),
        fence,
        claimed_at: held.map(|held| held.0),
        ended_at: held.and_then(|held| held.1),
        holds: status == "active",
        requests: false,
    }
}

fn expected() -> Expected {
    Expected {
        holder: Some(party(1, Right::Lease)),
        queue: vec![party(2, Right::Place), party(3, Right::Place)],
        ended: vec![id(4)],
        ..Expected::default()
    }
}

fn good() -> Vec<Stored> {
    vec![
        row(4, "expired", Some(1), Some((0, Some(10)))),
        row(1, "active", Some(3), Some((10, None))),
        row(2, "queued", None, None),
        row(3, "queued", None, None),
    ]
}

fn judged(expected: &Expected, rows: &[Stored]) -> (Vec<&'static str>, OutageFigures) {
    let (mut figures, mut findings) = (OutageFigures::default(), Vec::new());
    let rows: Vec<&Stored> = rows.iter().collect();
    let good = environment(("test", expected), &rows, &mut figures, &mut findings);
    assert_eq!(good, findings.is_empty());
    (findings.iter().map(|finding| finding.property).collect(), figures)
}

#[test]
fn what_is_as_expected_is_counted() {
    let (findings, figures) = judged(&expected(), &good());
    assert_eq!(findings, Vec::<&str>::new());
    assert_eq!((figures.holds_kept, figures.places_kept, figures.due_ended), (1, 2, 1));
}

#[test]
fn a_lost_place_is_found() {
    let mut rows = good();
    rows[2].status = "canceled".to_owned();
    let (findings, figures) = judged(&expected(), &rows);
    assert_eq!((findings, figures.places_lost), (vec!["L18"], 1));
}

#[test]
fn a_lost_hold_is_found() {
    let mut rows = good();
    (rows[1].status, rows[1].holds) = ("expired".to_owned(), false);
    let (findings, figures) = judged(&expected(), &rows);
    assert_eq!((findings, figures.holds_lost), (vec!["L18"], 1));
}

#[test]
fn a_grant_beside_the_holder_is_found() {
    let mut rows = good();
    (rows[2].status, rows[2].holds) = ("active".to_owned(), true);
    assert_eq!(judged(&expected(), &rows).0, ["L3"]);
}

#[test]
fn what_is_over_has_to_end() {
    let mut rows = good();
    rows[0].status = "queued".to_owned();
    assert_eq!(judged(&expected(), &rows).0, ["L19"]);
    let mut rows = good();
    rows[2].requests = true;
    assert_eq!(judged(&expected(), &rows).0, ["L19"]);
}

#[test]
fn a_lost_request_and_a_changed_order_are_found() {
    let mut state = expected();
    state.request = Some(Request { by: id(2), left: Left::exactly(9.0), accepts: true });
    assert_eq!(judged(&state, &good()).0, ["L18"]);
    let mut rows = good();
    rows.swap(2, 3);
    assert_eq!(judged(&expected(), &rows).0, ["L18"]);
}

#[test]
fn fences_rise_and_holds_do_not_overlap() {
    let found = |rows: &[Stored], floor| grants("test", &rows.iter().collect::<Vec<_>>(), floor).len();
    assert_eq!((found(&good(), 0), found(&good(), 1)), (0, 1));
    let mut rows = good();
    rows[1].fence = Some(1);
    assert_eq!(found(&rows, 0), 1);
    let mut rows = good();
    rows[0].ended_at = Some(11);
    assert_eq!(found(&rows, 0), 1);
    let mut rows = good();
    rows[1].holds = false;
    assert_eq!(found(&rows, 0), 1);
}

#[test]
fn the_list_shows_the_holder() {
    let shown = |session: Option<&str>| json!({ "data": [{ "envName": "away-1", "lock": { "sessionId": session } }] });
    let expected = HashMap::from([("away-1", Some(id(1)))]);
    let held = format!("ses_{}", id(1));
    assert_eq!(listed("test", &shown(Some(&held)), &expected), Vec::new());
    assert_eq!(listed("test", &shown(None), &expected).len(), 1);
}

#[test]
fn outages_without_a_result_are_void() {
    let mut figures =
        OutageFigures { outages: 10, absences: 8, judged: 90, undecided: 10, ..OutageFigures::default() };
    assert!(figures.void().is_some());
    (figures.places_kept, figures.holds_kept, figures.due_ended) = (100, 20, 20);
    assert_eq!(figures.void(), None);
    figures.undecided = 31;
    assert!(figures.void().is_some());
}
