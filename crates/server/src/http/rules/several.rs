//! Query parameters with several values, separated by commas: `status=active,queued`.

use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Deserializer};

/// Deserializes a parameter that has one or more values. It is for `deserialize_with`, together with
/// `default`.
pub fn several<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let values = text.split(',').map(|value| T::deserialize(value.into_deserializer()));
    values.collect::<Result<_, _>>().map(Some)
}
