//! Anthropic's messages.

use greenroom_domain::model::Endpoint;
use greenroom_domain::secret::Secret;
use http::{HeaderName, HeaderValue, Request};
use serde::{Deserialize, Serialize};

use super::{Reply, post, sensitive};
use crate::model::error::ModelError;
use crate::model::prompt::{Prompt, Schema};
use crate::model::usage::Usage;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const VERSION: HeaderName = HeaderName::from_static("anthropic-version");
const VERSION_VALUE: HeaderValue = HeaderValue::from_static("2023-06-01");

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    system: &'a str,
    messages: [Message<'a>; 1],
    output_config: OutputConfig<'a>,
    max_tokens: u32,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    format: Format<'a>,
}

#[derive(Serialize)]
struct Format<'a> {
    r#type: &'static str,
    schema: &'a Schema,
}

pub(super) fn request(
    endpoint: &Endpoint,
    prompt: &Prompt,
    schema: &Schema,
    key: Option<&Secret>,
    max_output_tokens: u32,
) -> Result<Request<Vec<u8>>, ModelError> {
    let body = Body {
        model: endpoint.model(),
        stream: false,
        system: prompt.instructions(),
        messages: [Message { role: "user", content: prompt.data() }],
        output_config: OutputConfig { format: Format { r#type: "json_schema", schema } },
        max_tokens: max_output_tokens,
    };
    let key = key.map(|key| sensitive("", key)).transpose()?;
    let mut request = post(endpoint, key.map(|value| (API_KEY, value)), &body)?;
    request.headers_mut().insert(VERSION, VERSION_VALUE);
    Ok(request)
}

#[derive(Deserialize)]
struct Received {
    content: Vec<Block>,
    stop_reason: Option<String>,
    usage: Option<ReceivedUsage>,
}

#[derive(Deserialize)]
struct Block {
    r#type: String,
    text: Option<String>,
}

#[derive(Deserialize)]
struct ReceivedUsage {
    #[serde(default)]
    input_tokens: u64,
    /// `null` if nothing was cached. Neither is part of `input_tokens`.
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: u64,
}

impl ReceivedUsage {
    fn input(&self) -> u64 {
        let cached = [self.cache_creation_input_tokens, self.cache_read_input_tokens];
        cached.into_iter().flatten().fold(self.input_tokens, u64::saturating_add)
    }
}

pub(super) fn parse(body: &[u8]) -> Option<Reply> {
    let received: Received = serde_json::from_slice(body).ok()?;
    let usage = received.usage.map(|usage| Usage::reported(usage.input(), usage.output_tokens));
    let texts = received.content.into_iter().filter(|block| block.r#type == "text");
    let text: String = texts.filter_map(|block| block.text).collect();
    Some(Reply { text, usage, is_refused: received.stop_reason.as_deref() == Some("refusal") })
}
