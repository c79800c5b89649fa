//! What a comparison finds, and where: the keys that openapi/breaking.md names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};

#[derive(Debug, Default)]
pub(super) struct Changes {
    /// By key, such as `GET /sessions response 200 /data/*/holding removed`.
    pub(super) breaks: BTreeMap<String, Class>,
    /// Changes that a client ignores or does not use.
    pub(super) additions: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Class {
    /// Requests that were accepted are rejected, or responses are not what they were.
    Wire,
    /// Generated code has other names or types; what is sent stays the same.
    Code,
}

impl Display for Class {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Class::Wire => "wire",
            Class::Code => "code",
        })
    }
}

impl Changes {
    pub(super) fn breaks_wire(&mut self, key: String) {
        self.breaks.insert(key, Class::Wire);
    }

    pub(super) fn breaks_code(&mut self, key: String) {
        self.breaks.insert(key, Class::Code);
    }

    pub(super) fn adds(&mut self, key: String) {
        self.additions.insert(key);
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Direction {
    Request,
    Response,
}

impl Direction {
    /// Returns the sender's and the reader's: an old client sends requests to the new server, and reads its
    /// responses.
    pub(super) fn sender_and_reader<T>(self, old: T, new: T) -> (T, T) {
        match self {
            Direction::Request => (old, new),
            Direction::Response => (new, old),
        }
    }
}

/// A field in a request or a response.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) direction: Direction,
    /// Such as `GET /sessions response 200`.
    label: String,
    /// Such as `/data/*/holding`; empty for the body itself.
    pointer: String,
}

impl Place {
    pub(super) fn new(direction: Direction, label: String) -> Self {
        Self { direction, label, pointer: String::new() }
    }

    /// Returns the place of a body in another format than JSON.
    pub(super) fn media_type(&self, name: &str) -> Self {
        Self { label: format!("{} {name}", self.label), ..self.clone() }
    }

    pub(super) fn field(&self, name: &str) -> Self {
        Self { pointer: format!("{}/{name}", self.pointer), ..self.clone() }
    }

    /// Returns the place of the items of an array, or of the values of a map.
    pub(super) fn items(&self) -> Self {
        self.field("*")
    }

    /// Returns the place of one variant of a union.
    pub(super) fn variant(&self, name: &str) -> Self {
        Self { pointer: format!("{}[{name}]", self.pointer), ..self.clone() }
    }

    pub(super) fn key(&self, what: impl Display) -> String {
        if self.pointer.is_empty() {
            format!("{} {what}", self.label)
        } else {
            format!("{} {} {what}", self.label, self.pointer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_the_operation_the_field_and_the_change() {
        let body = Place::new(Direction::Response, "GET /sessions response 200".to_owned());
        assert_eq!(body.key("became nullable"), "GET /sessions response 200 became nullable");
        let field = body.field("data").items().variant("kind=runner").field("pool");
        assert_eq!(field.key("removed"), "GET /sessions response 200 /data/*[kind=runner]/pool removed");
    }
}
