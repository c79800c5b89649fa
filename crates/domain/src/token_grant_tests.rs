//! Tests of the limits of new tokens.

use uuid::Uuid;

use super::*;
use crate::scope::Scope;

const DAY: i64 = 86_400;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn pipeline(number: u128) -> PipelineId {
    PipelineId::from(Uuid::from_u128(number))
}

fn request(kind: TokenKind) -> TokenRequest {
    TokenRequest {
        kind,
        allow_force: None,
        expiry: RequestedExpiry::Default,
        scopes: None,
        pipelines: None,
        max_sessions: None,
    }
}

fn person() -> TokenGrant {
    TokenGrant::of_user()
}

/// A token with all limits.
fn limited() -> TokenGrant {
    TokenGrant {
        kind: TokenKind::Agent,
        allow_force: false,
        expires_at: Some(at(100)),
        scopes: Scopes::of(&[Scope::Read, Scope::Write]),
        pipelines: PipelineLimit::Only(vec![pipeline(1), pipeline(2)]),
        max_sessions: Some(3),
    }
}

#[test]
fn a_person_s_token_has_everything_that_its_user_has() {
    let expected = TokenGrant { expires_at: Some(at(90 * DAY)), ..person() };
    assert_eq!(request(TokenKind::User).resolve(Some(&person()), at(0)), Ok(expected.clone()));
    assert_eq!(request(TokenKind::User).resolve(None, at(0)), Ok(expected));
}

#[test]
fn only_a_person_s_token_can_be_valid_for_ever() {
    let never = |kind| TokenRequest { expiry: RequestedExpiry::Never, ..request(kind) };
    for parent in [None, Some(person())] {
        assert_eq!(never(TokenKind::User).resolve(parent.as_ref(), at(0)), Ok(person()));
        for kind in [TokenKind::Agent, TokenKind::Ci] {
            let made = never(kind).resolve(parent.as_ref(), at(0)).unwrap();
            assert_eq!(made.expires_at, Some(at(90 * DAY)));
        }
    }
    let brief = TokenGrant { expires_at: Some(at(100)), ..person() };
    let refused = never(TokenKind::User).resolve(Some(&brief), at(0));
    assert_eq!(refused, Err(ExceedsParent::Lifetime.into()));
}

#[test]
fn programs_get_few_scopes_and_ninety_days() {
    for (kind, scopes) in [(TokenKind::Agent, "read hold deploy"), (TokenKind::Ci, "read hold deploy start")]
    {
        for parent in [None, Some(person())] {
            let made = request(kind).resolve(parent.as_ref(), at(0)).unwrap();
            assert_eq!(made.scopes.to_string(), scopes);
            assert_eq!(made.expires_at, Some(at(90 * DAY)));
            assert!(!made.allow_force);
        }
    }
}

#[test]
fn programs_do_not_administer() {
    for kind in [TokenKind::Agent, TokenKind::Ci] {
        let admin = TokenRequest { scopes: Some(Scopes::ALL), ..request(kind) };
        assert_eq!(admin.resolve(Some(&person()), at(0)), Err(TokenRefusal::AdminScope { kind }));
        let write = Scopes::of(&[Scope::Write]);
        let made = TokenRequest { scopes: Some(write), ..request(kind) }.resolve(None, at(0)).unwrap();
        assert_eq!(made.scopes, write);
    }
    let empty = TokenRequest { scopes: Some(Scopes::default()), ..request(TokenKind::User) };
    assert_eq!(empty.resolve(None, at(0)), Err(TokenRefusal::NoScopes));
}

#[test]
fn programs_expire_within_366_days() {
    for kind in [TokenKind::Agent, TokenKind::Ci] {
        let until = |seconds| TokenRequest { expiry: RequestedExpiry::At(at(seconds)), ..request(kind) };
        assert_eq!(until(366 * DAY).resolve(None, at(0)).unwrap().expires_at, Some(at(366 * DAY)));
        let too_late = TokenRefusal::ExpiryTooLate { kind, max_days: 366 };
        assert_eq!(until(366 * DAY + 1).resolve(None, at(0)), Err(too_late));
        assert_eq!(until(0).resolve(None, at(0)), Err(TokenRefusal::ExpiryPast));
    }
    let far = TokenRequest { expiry: RequestedExpiry::At(at(9999 * DAY)), ..request(TokenKind::User) };
    assert_eq!(far.resolve(None, at(0)).unwrap().expires_at, Some(at(9999 * DAY)));
}

#[test]
fn a_child_inherits_the_limits_of_its_parent_by_default() {
    let child = request(TokenKind::Agent).resolve(Some(&limited()), at(0)).unwrap();
    assert_eq!(child, TokenGrant { scopes: Scopes::of(&[Scope::Read]), ..limited() });
    let narrower = TokenRequest {
        expiry: RequestedExpiry::At(at(99)),
        scopes: Some(Scopes::of(&[Scope::Write])),
        pipelines: Some(vec![pipeline(2), pipeline(2)]),
        ..request(TokenKind::Ci)
    };
    let child = narrower.resolve(Some(&limited()), at(0)).unwrap();
    assert_eq!(child.expires_at, Some(at(99)));
    assert_eq!(child.scopes, Scopes::of(&[Scope::Write]));
    assert_eq!(child.pipelines, PipelineLimit::Only(vec![pipeline(2)]));
}

#[test]
fn a_child_can_t_exceed_its_parent() {
    let agent = || request(TokenKind::Agent);
    let has = limited().scopes;
    for (exceeding, refusal) in [
        (request(TokenKind::User), ExceedsParent::Kind),
        (TokenRequest { allow_force: Some(true), ..agent() }, ExceedsParent::Force),
        (TokenRequest { expiry: RequestedExpiry::At(at(101)), ..agent() }, ExceedsParent::Lifetime),
        (
            TokenRequest { scopes: Some(Scopes::of(&[Scope::Read, Scope::Hold])), ..agent() },
            ExceedsParent::Scopes { has },
        ),
        (
            TokenRequest { pipelines: Some(vec![pipeline(1), pipeline(3)]), ..agent() },
            ExceedsParent::Pipelines,
        ),
    ] {
        assert_eq!(exceeding.resolve(Some(&limited()), at(0)), Err(refusal.into()));
    }
    let writes = TokenGrant { scopes: Scopes::of(&[Scope::Write]), ..limited() };
    let nothing_left = ExceedsParent::Scopes { has: writes.scopes };
    assert_eq!(agent().resolve(Some(&writes), at(0)), Err(nothing_left.into()));
}

#[test]
fn the_number_of_pipelines_is_limited() {
    for count in [0, MAX_PIPELINES + 1] {
        let pipelines = (0..count as u128).map(pipeline).collect();
        let many = TokenRequest { pipelines: Some(pipelines), ..request(TokenKind::User) };
        assert_eq!(many.resolve(None, at(0)), Err(TokenRefusal::PipelineCount));
    }
}

#[test]
fn events_of_other_pipelines_and_of_none_are_left_out() {
    let limit = PipelineLimit::Only(vec![pipeline(1)]);
    for (subject, contained) in [
        (format!("pipelines/{}", pipeline(1)), true),
        (format!("pipelines/{}/ephemeral-environments/qa-1", pipeline(1)), true),
        (format!("pipelines/{}", pipeline(2)), false),
        (format!("members/{}", pipeline(1)), false),
        ("pipelines".to_owned(), false),
    ] {
        assert_eq!(limit.contains_subject(&subject), contained, "{subject}");
        assert!(PipelineLimit::All.contains_subject(&subject));
    }
}

#[test]
fn the_number_of_sessions_is_limited_by_the_parent() {
    let with = |max_sessions| TokenRequest { max_sessions, ..request(TokenKind::Agent) };
    let made = |max_sessions, parent: &TokenGrant| {
        with(max_sessions).resolve(Some(parent), at(0)).map(|made| made.max_sessions)
    };
    assert_eq!(made(None, &person()), Ok(None));
    assert_eq!(made(Some(1000), &person()), Ok(Some(1000)));
    assert_eq!(made(None, &limited()), Ok(Some(3)));
    assert_eq!(made(Some(2), &limited()), Ok(Some(2)));
    assert_eq!(made(Some(4), &limited()), Err(ExceedsParent::Sessions { has: 3 }.into()));
    for wrong in [0, -1, 1001, i64::MIN, i64::MAX, 65_537] {
        assert_eq!(made(Some(wrong), &person()), Err(TokenRefusal::SessionLimit), "{wrong}");
    }
}
