//! Open enums: the server sends the values that are listed in the API's document, and clients accept others, because
//! a newer server may have more. The values are those of the domain's enums.

use std::borrow::Cow;
use std::fmt;

use greenroom_domain::text_enum::TextEnum;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// What the document states about every open enum.
pub const OPEN: &str = "Clients must accept values that are not listed.";

/// An enum of the domain that is an open enum of the API.
pub trait OpenEnum: TextEnum {
    /// The name of its schema.
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    /// The final statuses, if it is a status.
    const FINAL: &'static [Self] = &[];
}

/// A value of an open enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Open<T> {
    Known(T),
    /// A value of a newer server.
    Unknown(String),
}

impl<T: OpenEnum> Open<T> {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(value) => value.as_str(),
            Self::Unknown(text) => text,
        }
    }

    /// Returns the value, if this version has it.
    pub fn known(&self) -> Option<T> {
        match self {
            Self::Known(value) => Some(*value),
            Self::Unknown(_) => None,
        }
    }
}

impl<T: OpenEnum> From<T> for Open<T> {
    fn from(value: T) -> Self {
        Self::Known(value)
    }
}

impl<T: OpenEnum> From<&str> for Open<T> {
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Unknown(text.to_owned()), Self::Known)
    }
}

impl<T: OpenEnum> fmt::Display for Open<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<T: OpenEnum> Serialize for Open<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, T: OpenEnum> Deserialize<'de> for Open<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(text.as_str().into())
    }
}

impl<T: OpenEnum> PartialSchema for Open<T> {
    fn schema() -> RefOr<Schema> {
        let texts = |values: &[T]| values.iter().map(|value| value.as_str()).collect::<Vec<_>>();
        let values = texts(T::ALL);
        let ends = match texts(T::FINAL).as_slice() {
            [] => String::new(),
            ends => format!(" Final: `{}`.", ends.join("`, `")),
        };
        ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(format!("{}{ends} {OPEN}", T::DESCRIPTION)))
            .enum_values(Some(values.iter().copied()))
            .extensions(Some(ExtensionsBuilder::new().add("x-extensible-enum", values).build()))
            .into()
    }
}

impl<T: OpenEnum> ToSchema for Open<T> {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed(T::NAME)
    }
}

/// Declares an enum of the domain as an open enum of the API, under the name of its schema.
macro_rules! open_enum {
    ($name:ident($domain:ty) $(final $ends:expr)?, $description:literal) => {
        #[doc = $description]
        pub type $name = $crate::open_enum::Open<$domain>;

        impl $crate::open_enum::OpenEnum for $domain {
            const NAME: &'static str = stringify!($name);
            const DESCRIPTION: &'static str = $description;
            $(const FINAL: &'static [Self] = $ends;)?
        }
    };
}

pub(crate) use open_enum;
