//! The problem responses of an operation in the OpenAPI document. An operation lists the groups that apply to it
//! in its `responses`.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};

use crate::http::rules::problem::CONTENT_TYPE;

macro_rules! problem_responses {
    ($($(#[$doc:meta])* $group:ident: $($status:literal)+,)+) => {
        $(
            $(#[$doc])*
            pub struct $group;

            impl IntoResponses for $group {
                fn responses() -> BTreeMap<String, RefOr<Response>> {
                    [$($status),+].into_iter().map(|status: u16| (status.to_string(), response(status))).collect()
                }
            }
        )+
    };
}

problem_responses! {
    /// For operations without a token.
    PublicProblems: 429 503,
    /// For operations that need a token and change nothing.
    ReadProblems: 401 403 404 422 429 503,
    /// For operations that change something.
    CommandProblems: 400 401 403 404 409 422 429 503,
    /// For operations with a body, in addition to the above.
    BodyProblems: 408 413 415,
    /// For operations that take `If-Match`.
    ConditionProblems: 412,
    /// For event streams, which reject a `Last-Event-ID` that is not a number.
    EventStreamProblems: 400,
    /// For logs and evidence, which are deleted when their retention time is over.
    LogProblems: 410,
    /// For operations that take `Range`.
    RangeProblems: 400 416,
}

fn response(status: u16) -> RefOr<Response> {
    let problem = Content::new(Some(Ref::from_schema_name("Problem")));
    RefOr::T(ResponseBuilder::new().description(describe(status)).content(CONTENT_TYPE, problem).build())
}

fn describe(status: u16) -> &'static str {
    match status {
        400 => "The body is not JSON, or a header can't be read",
        401 => "The request has no valid token",
        403 => "The record is visible to this token, but the request is not permitted",
        404 => "The record does not exist, or is not visible to this token",
        408 => "The body was sent too slowly",
        409 => {
            "The request conflicts with the current state. `code` names the conflict, and `actions` \
             suggests other requests"
        }
        410 => "The log was deleted because its retention time was over",
        412 => "The record has changed since you read it",
        413 => "The body is too large",
        415 => "The body's content type is not JSON",
        416 => "The log has no bytes in that range. `Content-Range` contains the total size",
        422 => "Fields or parameters are wrong or unknown",
        429 => "The token, its organization or the IP address has reached its request limit",
        _ => "The server is temporarily unavailable. Try again later",
    }
}
