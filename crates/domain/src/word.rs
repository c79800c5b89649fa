//! Enums that stand in rows, on the wire and in events by one word each.

/// The text is none of the words of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown word `{0}`")]
pub struct UnknownWord(pub &'static str);

macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        impl $type {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),*
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::word::UnknownWord;

            fn from_str(text: &str) -> Result<Self, $crate::word::UnknownWord> {
                let known = Self::ALL.iter().copied().find(|value| value.as_str() == text);
                known.ok_or($crate::word::UnknownWord(stringify!($type)))
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
    };
}

pub(crate) use words;
