//! Buffers a request's body, so that a request takes a slot only once its body has arrived. Each handler has
//! its own maximum size; the maximum here is larger than all of them.

use std::borrow::Cow;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use greenroom_app::failure::{Code, Failure};
use greenroom_app::limits::{Bearer, Charge, Limits};
use http_body_util::BodyExt;

use crate::http::rules::body::MAX_DEFINITION_BYTES;
use crate::http::rules::paced_body::{PacedBody, TooSlow};

/// One byte more than any handler accepts, so that the handler can detect a body that is too large.
const MAX_BYTES: usize = MAX_DEFINITION_BYTES + 1;
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits for a body that has not arrived yet. Returns the complete body, and the charge for its memory.
pub async fn buffer(limits: &Limits, bearer: Bearer, body: Body) -> Result<(Body, Option<Charge>), Failure> {
    let expected = body.size_hint().upper().and_then(|upper| usize::try_from(upper).ok());
    let expected = expected.map_or(MAX_BYTES, |upper| upper.min(MAX_BYTES));
    let charge = limits.bodies.charge(bearer, expected).await?;
    let bytes = tokio::time::timeout(READ_TIMEOUT, read(body, limits.client_timing.body_window)).await;
    let bytes = bytes.map_err(|_| too_slow("The body did not arrive within 60 seconds."))??;
    Ok((Body::from(bytes), charge))
}

async fn read(body: Body, window: Duration) -> Result<Bytes, Failure> {
    let mut body = PacedBody::new(body, window);
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            if error.is::<TooSlow>() {
                too_slow(format!("The body came more slowly than 1 KiB/s for {} seconds.", window.as_secs()))
            } else {
                Failure::new(Code::MalformedJson, "The body broke off. Send the request again.")
            }
        })?;
        let data = frame.into_data().unwrap_or_default();
        let room = MAX_BYTES - bytes.len();
        bytes.extend_from_slice(data.get(..room).unwrap_or(&data));
        if bytes.len() == MAX_BYTES {
            break;
        }
    }
    Ok(bytes.freeze())
}

fn too_slow(detail: impl Into<Cow<'static, str>>) -> Failure {
    Failure::new(Code::RequestTimeout, detail)
}
