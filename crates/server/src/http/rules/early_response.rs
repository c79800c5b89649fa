//! The response to a request that a handler or an extractor ends early: a failure as problem document, or the stored
//! response of a repeated request.

use axum::response::{IntoResponse, Response};
use greenroom_app::command::Interruption;
use greenroom_app::failure::Failure;
use greenroom_domain::policy::Denied;
use greenroom_store::StoreError;

use crate::http::rules::problem::problem_response;
use crate::http::rules::record_response::RecordResponse;

pub struct EarlyResponse(Box<Response>);

impl IntoResponse for EarlyResponse {
    fn into_response(self) -> Response {
        *self.0
    }
}

impl From<RecordResponse> for EarlyResponse {
    fn from(response: RecordResponse) -> Self {
        Self(Box::new(response.into_response()))
    }
}

impl From<Failure> for EarlyResponse {
    fn from(failure: Failure) -> Self {
        Self(Box::new(problem_response(failure)))
    }
}

impl From<Interruption> for EarlyResponse {
    fn from(interruption: Interruption) -> Self {
        match interruption {
            Interruption::Refused(failure) => (*failure).into(),
            Interruption::Replayed(stored) => match RecordResponse::replay(stored) {
                Ok(response) => response.into(),
                Err(failure) => failure.into(),
            },
        }
    }
}

impl From<StoreError> for EarlyResponse {
    fn from(error: StoreError) -> Self {
        Failure::from(error).into()
    }
}

impl From<Denied> for EarlyResponse {
    fn from(denied: Denied) -> Self {
        Failure::from(denied).into()
    }
}
