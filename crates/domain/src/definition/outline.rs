//! The structure of a file without its values. Only parsed after an error, to find the path of its position.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::diagnostic::Path;
use super::located::Position;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    Value,
    List,
    Map,
}

pub(super) enum Outline {
    Nothing,
    Value,
    List(Vec<Spanned<Outline>>),
    Map(Vec<(Spanned<String>, Spanned<Outline>)>),
}

impl Outline {
    const fn kind(&self) -> Kind {
        match self {
            Self::Nothing => Kind::Nothing,
            Self::Value => Kind::Value,
            Self::List(_) => Kind::List,
            Self::Map(_) => Kind::Map,
        }
    }

    /// Visits every key and every value in the order of the file, and returns the first result. `visit` gets
    /// the kind of a value, or `None` for a key.
    pub(super) fn find<T>(
        whole: &Spanned<Self>,
        root: &Path<'_>,
        visit: &impl Fn(Position, &Path<'_>, Option<Kind>) -> Option<T>,
    ) -> Option<T> {
        Self::find_from(whole, root, visit)
    }

    fn find_from<T>(
        node: &Spanned<Self>,
        path: &Path<'_>,
        visit: &impl Fn(Position, &Path<'_>, Option<Kind>) -> Option<T>,
    ) -> Option<T> {
        let found = visit(node.referenced.into(), path, Some(node.value.kind()));
        found.or_else(|| match &node.value {
            Self::Nothing | Self::Value => None,
            Self::List(items) => items
                .iter()
                .enumerate()
                .find_map(|(index, item)| Self::find_from(item, &path.index(index), visit)),
            Self::Map(entries) => entries.iter().find_map(|(key, value)| {
                let path = path.key(&key.value);
                visit(key.referenced.into(), &path, None).or_else(|| Self::find_from(value, &path, visit))
            }),
        })
    }
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OutlineVisitor)
    }
}

struct OutlineVisitor;

impl<'de> Visitor<'de> for OutlineVisitor {
    type Value = Outline;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Outline, E> {
        Ok(Outline::Value)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Outline, E> {
        Ok(Outline::Value)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Outline, E> {
        Ok(Outline::Value)
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<Outline, E> {
        Ok(Outline::Value)
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<Outline, E> {
        Ok(Outline::Value)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Outline, E> {
        Ok(Outline::Value)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Outline, E> {
        Ok(Outline::Value)
    }

    fn visit_bytes<E: Error>(self, _: &[u8]) -> Result<Outline, E> {
        Ok(Outline::Value)
    }

    fn visit_unit<E: Error>(self) -> Result<Outline, E> {
        Ok(Outline::Nothing)
    }

    fn visit_none<E: Error>(self) -> Result<Outline, E> {
        Ok(Outline::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Outline, D::Error> {
        Outline::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Outline, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Outline::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Outline, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Outline::Map(entries))
    }
}
