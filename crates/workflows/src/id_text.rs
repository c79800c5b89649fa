//! Deserializes ids, which payloads contain as text, as everywhere outside of the database.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

pub fn id<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

pub fn optional_id<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let text = Option::<String>::deserialize(from)?;
    text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
}

pub fn ids<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let texts = Vec::<String>::deserialize(from)?;
    texts.iter().map(|text| text.parse().map_err(serde::de::Error::custom)).collect()
}
