//! The two protocols: what is sent, and what of the response is read. Pure.
//!
//! They are written here and not by a library: `genai` 0.7.2 sends by itself and reads a response completely, however
//! long it is, and a client that is handed to it can't bound that. It also enables features for the whole program
//! (`serde_json/preserve_order`, `tokio/test-util`), and rewrites names of models.

mod anthropic;
mod openai;

use greenroom_domain::model::{Endpoint, ModelProtocol};
use greenroom_domain::secret::Secret;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Request};
use serde::Serialize;

use super::error::ModelError;
use super::prompt::{Prompt, Schema};
use super::usage::Usage;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What a response contains.
pub(super) struct Reply {
    pub(super) text: String,
    /// `None`: the provider has reported nothing.
    pub(super) usage: Option<Usage>,
    pub(super) is_refused: bool,
}

pub(super) fn request(
    endpoint: &Endpoint,
    prompt: &Prompt,
    schema: &Schema,
    key: Option<&Secret>,
    max_output_tokens: u32,
) -> Result<Request<Vec<u8>>, ModelError> {
    match endpoint.protocol() {
        ModelProtocol::OpenAi => openai::request(endpoint, prompt, schema, key, max_output_tokens),
        ModelProtocol::Anthropic => anthropic::request(endpoint, prompt, schema, key, max_output_tokens),
    }
}

/// Parses the body of a successful response.
pub(super) fn parse(protocol: ModelProtocol, body: &[u8]) -> Result<Reply, ModelError> {
    let reply = match protocol {
        ModelProtocol::OpenAi => openai::parse(body),
        ModelProtocol::Anthropic => anthropic::parse(body),
    };
    reply.ok_or(ModelError::InvalidResponse)
}

fn post(
    endpoint: &Endpoint,
    credentials: Option<(HeaderName, HeaderValue)>,
    body: &impl Serialize,
) -> Result<Request<Vec<u8>>, ModelError> {
    let body = serde_json::to_vec(body).map_err(|_| ModelError::InvalidResponse)?;
    let mut request = Request::post(url(endpoint))
        .header(CONTENT_TYPE, JSON)
        .header(ACCEPT, JSON)
        .body(body)
        // Its form was checked, so only an address that HTTP can't express is left.
        .map_err(|_| ModelError::ForbiddenAddress)?;
    if let Some((name, value)) = credentials {
        request.headers_mut().insert(name, value);
    }
    Ok(request)
}

/// Returns the address of the operation: that of the endpoint, with the path of its protocol.
fn url(endpoint: &Endpoint) -> String {
    let path = match endpoint.protocol() {
        ModelProtocol::OpenAi => "chat/completions",
        ModelProtocol::Anthropic => "messages",
    };
    format!("{}/{path}", endpoint.address().as_str())
}

/// Makes a header of a key. `Debug` does not show it.
fn sensitive(prefix: &str, key: &Secret) -> Result<HeaderValue, ModelError> {
    let bytes = [prefix.as_bytes(), key.reveal()].concat();
    let mut value = HeaderValue::from_bytes(&bytes).map_err(|_| ModelError::InvalidKey)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_the_protocol_is_added() {
        for (protocol, address, expected) in [
            (ModelProtocol::OpenAi, "https://a.example/v1", "https://a.example/v1/chat/completions"),
            (ModelProtocol::OpenAi, "https://a.example/v1/", "https://a.example/v1/chat/completions"),
            (ModelProtocol::OpenAi, "http://127.0.0.1:8080", "http://127.0.0.1:8080/chat/completions"),
            (ModelProtocol::Anthropic, "https://a.example/v1", "https://a.example/v1/messages"),
        ] {
            assert_eq!(url(&Endpoint::new(protocol, address, "m").unwrap()), expected);
        }
    }
}
