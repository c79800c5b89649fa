//! The model of an organization: its settings, its budget and its calls. Its credential is sealed; this crate can't open it.

mod budget;
mod call;
mod credential;
mod settings;
mod settle;

pub use self::call::{ModelCallRecord, NewModelCall, NotReserved, SettledCall};
pub use self::credential::SealedModelCredential;
pub use self::settings::ModelSettingsRecord;
pub use self::settle::ModelCallResult;
