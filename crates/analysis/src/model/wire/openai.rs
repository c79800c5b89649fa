//! OpenAI's chat completions, which most providers and model servers have.

use greenroom_domain::model::Endpoint;
use greenroom_domain::secret::Secret;
use http::Request;
use http::header::AUTHORIZATION;
use serde::{Deserialize, Serialize};

use super::{Reply, post, sensitive};
use crate::model::error::ModelError;
use crate::model::prompt::{Prompt, Schema};
use crate::model::usage::Usage;

/// The models that reject `max_tokens`, and want `max_completion_tokens`. All others accept the first.
const NEW_MODELS: &[&str] = &["gpt-5", "gpt-6", "o1", "o3", "o4"];

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    messages: [Message<'a>; 2],
    response_format: ResponseFormat<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'static str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'static str,
    strict: bool,
    schema: &'a Schema,
}

pub(super) fn request(
    endpoint: &Endpoint,
    prompt: &Prompt,
    schema: &Schema,
    key: Option<&Secret>,
    max_output_tokens: u32,
) -> Result<Request<Vec<u8>>, ModelError> {
    let is_new = NEW_MODELS.iter().any(|prefix| endpoint.model().starts_with(prefix));
    let body = Body {
        model: endpoint.model(),
        stream: false,
        messages: [
            Message { role: "system", content: prompt.instructions() },
            Message { role: "user", content: prompt.data() },
        ],
        response_format: ResponseFormat {
            r#type: "json_schema",
            json_schema: JsonSchema { name: "explanation", strict: true, schema },
        },
        max_tokens: (!is_new).then_some(max_output_tokens),
        max_completion_tokens: is_new.then_some(max_output_tokens),
    };
    let key = key.map(|key| sensitive("Bearer ", key)).transpose()?;
    post(endpoint, key.map(|value| (AUTHORIZATION, value)), &body)
}

#[derive(Deserialize)]
struct Received {
    choices: Vec<Choice>,
    usage: Option<ReceivedUsage>,
}

#[derive(Deserialize)]
struct Choice {
    message: ReceivedMessage,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ReceivedMessage {
    content: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct ReceivedUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

pub(super) fn parse(body: &[u8]) -> Option<Reply> {
    let received: Received = serde_json::from_slice(body).ok()?;
    let usage = received.usage.map(|usage| Usage::reported(usage.prompt_tokens, usage.completion_tokens));
    let choice = received.choices.into_iter().next()?;
    let is_filtered = choice.finish_reason.as_deref() == Some("content_filter");
    let is_refused = is_filtered || choice.message.refusal.is_some_and(|text| !text.is_empty());
    Some(Reply { text: choice.message.content.unwrap_or_default(), usage, is_refused })
}
