//! Where a model is reached.

use crate::service_address::{InvalidServiceAddress, ServiceAddress};
use crate::text::is_hidden_in_name;
use crate::text_enum::text_enum;

const MAX_MODEL_CHARACTERS: usize = 200;

/// The protocol of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelProtocol {
    /// `POST …/chat/completions`, as OpenAI, vLLM, llama.cpp, Ollama and most gateways have it.
    OpenAi,
    /// `POST …/messages`.
    Anthropic,
}

text_enum!(ModelProtocol { OpenAi = "openai", Anthropic = "anthropic" });

/// The address of an endpoint up to its version, such as `https://api.openai.com/v1`. Whether it may be connected to is
/// decided when a request is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAddress(ServiceAddress);

impl ModelAddress {
    pub fn new(text: &str) -> Result<Self, InvalidServiceAddress> {
        ServiceAddress::new(text).map(Self)
    }

    /// Returns the address, without a slash at its end.
    pub fn as_str(&self) -> &str {
        self.0.text()
    }

    /// Returns the host that receives prompts, for display.
    pub fn host(&self) -> &str {
        self.0.host()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEndpoint {
    #[error(transparent)]
    Address(#[from] InvalidServiceAddress),
    #[error("must have 1 to {MAX_MODEL_CHARACTERS} characters, none of them hidden")]
    Model,
}

/// Checks the name that a provider has for a model.
pub fn check_model_name(name: &str) -> Result<(), InvalidEndpoint> {
    let is_valid =
        (1..=MAX_MODEL_CHARACTERS).contains(&name.chars().count()) && !name.chars().any(is_hidden_in_name);
    if is_valid { Ok(()) } else { Err(InvalidEndpoint::Model) }
}

/// An endpoint with a valid form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    protocol: ModelProtocol,
    address: ModelAddress,
    model: String,
}

impl Endpoint {
    pub fn new(protocol: ModelProtocol, address: &str, model: &str) -> Result<Self, InvalidEndpoint> {
        check_model_name(model)?;
        Ok(Self { protocol, address: ModelAddress::new(address)?, model: model.to_owned() })
    }

    pub const fn protocol(&self) -> ModelProtocol {
        self.protocol
    }

    pub const fn address(&self) -> &ModelAddress {
        &self.address
    }

    /// Returns the host that receives prompts, for display.
    pub fn host(&self) -> &str {
        self.address.host()
    }

    pub fn model(&self) -> &str {
        &self.model
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_one_spelling() {
        for (address, expected) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1"),
            ("https://api.openai.com/v1/", "https://api.openai.com/v1"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("https://models.example:8443/a/v1", "https://models.example:8443/a/v1"),
        ] {
            let endpoint = Endpoint::new(ModelProtocol::OpenAi, address, "m").unwrap();
            assert_eq!(endpoint.address().as_str(), expected);
        }
    }

    #[test]
    fn other_forms_are_rejected() {
        let address = InvalidEndpoint::Address(InvalidServiceAddress::Address);
        let long = "m".repeat(201);
        for (url, model, expected) in [
            ("ftp://a.example/v1", "m", address),
            ("file:///etc/passwd", "m", address),
            ("a.example", "m", address),
            ("http://a.example/v1", "m", address),
            ("http://10.0.0.1/v1", "m", address),
            ("https://user:key@a.example/v1", "m", address),
            ("https://a.example/v1?key=1", "m", address),
            ("https://a.example/v1#x", "m", address),
            ("https://a.example/v1/../v2", "m", address),
            ("https://0x7f000001/v1", "m", address),
            ("HTTPS://a.example/v1", "m", address),
            ("https://a.example/v 1", "m", InvalidEndpoint::Address(InvalidServiceAddress::Text)),
            ("https://a.example/v1", "", InvalidEndpoint::Model),
            ("https://a.example/v1", "a\nb", InvalidEndpoint::Model),
            ("https://a.example/v1", "a\u{202e}b", InvalidEndpoint::Model),
            ("https://a.example/v1", "a\u{200b}b", InvalidEndpoint::Model),
            ("https://a.example/v1", &long, InvalidEndpoint::Model),
        ] {
            let endpoint = Endpoint::new(ModelProtocol::OpenAi, url, model);
            assert_eq!(endpoint, Err(expected), "{url} {model}");
        }
    }
}
