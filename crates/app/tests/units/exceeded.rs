//! How an exceeded limit is reported.

use std::time::Duration;

use greenroom_app::limits::{Exceeded, Kind, Party, PartyLimit};
use http::HeaderMap;

#[test]
fn the_text_names_whose_limit_it_is() {
    let id = uuid::Uuid::nil();
    for (party, name, whose) in [
        (Party::Token(id), "token_bodies", "of this token already"),
        (Party::Person(id), "person_bodies", "of this person (all tokens and browser sessions) already"),
        (Party::Organization(id), "organization_bodies", "of this organization already"),
        (Party::Runners(id), "runners_bodies", "of this organization's runners already"),
        (Party::OtherAddresses, "address_bodies", "of this address already"),
    ] {
        for kind in [Kind::Bodies, Kind::ReservedBodies] {
            let exceeded = Exceeded::concurrency(kind, PartyLimit { party, limit: 64 });
            assert_eq!(exceeded.name(), name);
            assert!(exceeded.detail().contains(whose), "{}", exceeded.detail());
        }
    }
}

#[test]
fn the_header_fields_have_the_form_of_the_draft() {
    let mut headers = HeaderMap::new();
    let token = Party::Token(uuid::Uuid::nil());
    Exceeded::concurrency(Kind::Requests, PartyLimit { party: token, limit: 64 }).write(&mut headers);
    assert_eq!(headers["retry-after"], "1");
    assert_eq!(headers["ratelimit-policy"], "\"token_in_flight\";q=64;qu=\"concurrent-requests\"");
    assert_eq!(headers["ratelimit"], "\"token_in_flight\";r=0;t=1");
    Exceeded::rate("rate", PartyLimit { party: token, limit: 200 }, Duration::from_millis(1_200))
        .write(&mut headers);
    assert_eq!(headers["retry-after"], "2");
    assert_eq!(headers["ratelimit-policy"], "\"token_rate\";q=200;w=1");
    assert_eq!(headers["ratelimit"], "\"token_rate\";r=0;t=2");
}
