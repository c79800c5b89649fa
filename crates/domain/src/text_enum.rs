//! Enums that the database, the API and events represent as text.

/// The text is not a variant of the enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be one of {}", names.join(", "))]
pub struct UnknownVariant {
    /// The texts of all variants.
    pub names: &'static [&'static str],
}

/// An enum whose variants have texts. Implemented by `text_enum!`.
pub trait TextEnum: Copy + std::str::FromStr + 'static {
    /// All variants, in the order of their definition.
    const ALL: &'static [Self];

    fn as_str(self) -> &'static str;
}

/// Implements [`TextEnum`], `FromStr`, `Display`, `Serialize` and `Deserialize` for an enum whose variants
/// have the given texts. After `formerly`, texts can be listed that earlier versions wrote: they are read as
/// the same variant, and never written.
macro_rules! text_enum {
    (
        $type:ident { $($variant:ident = $text:literal),* $(,)? }
        $(formerly { $($old_variant:ident = $old_text:literal),* $(,)? })?
    ) => {
        impl $type {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];
            /// The texts of all variants, in the order of `ALL`.
            pub const NAMES: &'static [&'static str] = &[$($text),*];

            /// The texts that earlier versions wrote, with their variants.
            pub const FORMER_TEXTS: &'static [(&'static str, Self)] =
                &[$($(($old_text, Self::$old_variant)),*)?];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),*
                }
            }
        }

        impl $crate::text_enum::TextEnum for $type {
            const ALL: &'static [Self] = <$type>::ALL;

            fn as_str(self) -> &'static str {
                <$type>::as_str(self)
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::text_enum::UnknownVariant;

            fn from_str(text: &str) -> Result<Self, $crate::text_enum::UnknownVariant> {
                let known = Self::ALL.iter().copied().find(|value| value.as_str() == text);
                let former = Self::FORMER_TEXTS.iter().find(|(former, _)| *former == text);
                known
                    .or(former.map(|(_, value)| *value))
                    .ok_or($crate::text_enum::UnknownVariant { names: Self::NAMES })
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use text_enum;
