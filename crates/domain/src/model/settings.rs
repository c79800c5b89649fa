//! What an organization has set about its model.

use super::budget::{BudgetLimits, Micros, Prices};
use super::endpoint::{Endpoint, ModelProtocol};

/// The highest limit: all numbers up to it are exact in JSON, and sums of them can be stored.
pub const MAX_LIMIT: u64 = 1_000_000_000_000_000;

/// The highest price of a million tokens.
pub const MAX_PRICE: Micros = 1_000_000_000_000;

/// The limit of an organization that has set none.
const DEFAULT_REQUESTS_PER_DAY: u64 = 200;

/// Whether failures are explained by a model, by which one, and how much that may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSettings {
    pub is_enabled: bool,
    pub protocol: Option<ModelProtocol>,
    pub address: Option<String>,
    pub model: Option<String>,
    pub limits: BudgetLimits,
    pub prices: Prices,
}

/// Off, with a limit that holds as soon as a model is enabled.
impl Default for ModelSettings {
    fn default() -> Self {
        let limits =
            BudgetLimits { requests_per_day: Some(DEFAULT_REQUESTS_PER_DAY), ..BudgetLimits::default() };
        Self {
            is_enabled: false,
            protocol: None,
            address: None,
            model: None,
            limits,
            prices: Prices::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSettings {
    #[error("must be set before the model is enabled")]
    NoProtocol,
    #[error("must be set before the model is enabled")]
    NoAddress,
    #[error("must be set before the model is enabled")]
    NoModel,
    /// All requests would cost nothing, so the limit would never hold.
    #[error("needs the price of a million tokens: without prices a limit of the cost would never hold")]
    NoPrices,
}

impl ModelSettings {
    /// Checks the parts together.
    pub fn check(&self) -> Result<(), InvalidSettings> {
        if self.limits.cost_per_month.is_some() && self.prices == Prices::default() {
            return Err(InvalidSettings::NoPrices);
        }
        if !self.is_enabled {
            return Ok(());
        }
        match self {
            Self { protocol: None, .. } => Err(InvalidSettings::NoProtocol),
            Self { address: None, .. } => Err(InvalidSettings::NoAddress),
            Self { model: None, .. } => Err(InvalidSettings::NoModel),
            _ => Ok(()),
        }
    }

    /// Returns where the model is reached. `None`: there is none, or it is not enabled.
    pub fn endpoint(&self) -> Option<Endpoint> {
        let (protocol, address, model) = (self.protocol?, self.address.as_ref()?, self.model.as_ref()?);
        if self.is_enabled { Endpoint::new(protocol, address, model).ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete() -> ModelSettings {
        ModelSettings {
            is_enabled: true,
            protocol: Some(ModelProtocol::Anthropic),
            address: Some("https://models.example/v1".to_owned()),
            model: Some("m".to_owned()),
            ..ModelSettings::default()
        }
    }

    #[test]
    fn a_model_is_enabled_when_it_is_complete() {
        assert_eq!(ModelSettings::default().check(), Ok(()));
        assert_eq!(ModelSettings::default().endpoint(), None);
        assert_eq!(complete().check(), Ok(()));
        assert_eq!(complete().endpoint().unwrap().host(), "models.example");
        for (expected, incomplete) in [
            (InvalidSettings::NoProtocol, ModelSettings { protocol: None, ..complete() }),
            (InvalidSettings::NoAddress, ModelSettings { address: None, ..complete() }),
            (InvalidSettings::NoModel, ModelSettings { model: None, ..complete() }),
        ] {
            let mut settings = incomplete;
            assert_eq!((settings.check(), settings.endpoint()), (Err(expected), None));
            settings.is_enabled = false;
            assert_eq!(settings.check(), Ok(()));
        }
        assert_eq!(ModelSettings { is_enabled: false, ..complete() }.endpoint(), None);
    }

    #[test]
    fn a_limit_of_the_cost_needs_prices() {
        let mut settings = complete();
        settings.limits.cost_per_month = Some(1);
        assert_eq!(settings.check(), Err(InvalidSettings::NoPrices));
        settings.prices.output = 1;
        assert_eq!(settings.check(), Ok(()));
    }
}
