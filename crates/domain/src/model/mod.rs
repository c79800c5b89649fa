//! Models that explain failures: where an organization's model is reached, what may be spent on it, and its settings. Pure.

pub mod budget;
mod endpoint;
mod explanation;
mod settings;

pub use self::endpoint::{Endpoint, InvalidEndpoint, ModelAddress, ModelProtocol, check_model_name};
pub use self::explanation::{Confidence, Explanation};
pub use self::settings::{InvalidSettings, MAX_LIMIT, MAX_PRICE, ModelSettings};
