//! Compares two schemas, field by field and as deep as they are.

use std::ptr;

use serde_json::Value;

use super::changes::{Changes, Direction, Place};
use super::limits;
use super::schema::{self, Alternative, Document, Listed, Type};
use super::variants::{OTHER, Variants};

/// Schemas by their addresses in the document.
type Identity = Vec<*const Value>;

pub(super) struct Comparison<'a> {
    pub(super) old: Document<'a>,
    pub(super) new: Document<'a>,
    pub(super) changes: Changes,
    /// The pairs that are being compared. A schema that contains itself leads to a pair that is here.
    open: Vec<(Identity, Identity)>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(old: Document<'a>, new: Document<'a>) -> Self {
        Self { old, new, changes: Changes::default(), open: Vec::new() }
    }

    /// Compares schemas of which all hold for the value at a place.
    pub(super) fn schemas(&mut self, old: &[&'a Value], new: &[&'a Value], place: &Place) {
        let pair = (identity(old), identity(new));
        if self.open.contains(&pair) {
            return;
        }
        self.open.push(pair);
        let (old, new) = (self.old.alternatives(old), self.new.alternatives(new));
        self.alternatives(&old, &new, place);
        self.open.pop();
    }

    fn alternatives(&mut self, old: &[Alternative<'a>], new: &[Alternative<'a>], place: &Place) {
        let (old_types, new_types) = (schema::types(old), schema::types(new));
        let (sent, read) = place.direction.sender_and_reader(&old_types, &new_types);
        let mut unread = sent - read;
        let is_null_unread = unread.remove(&Type::Null);
        if !unread.is_empty() {
            let (before, after) = (schema::type_names(&old_types), schema::type_names(&new_types));
            self.changes.breaks_wire(place.key(format_args!("type changed from {before} to {after}")));
            return;
        }
        if is_null_unread {
            self.changes.breaks_wire(place.key(match place.direction {
                Direction::Request => "does not accept null",
                Direction::Response => "became nullable",
            }));
        }
        if let (Some(old), Some(new)) = (Listed::of(old), Listed::of(new)) {
            self.values(&old, &new, place);
        }
        let (old, new) = (without_null(old), without_null(new));
        if let ([old], [new]) = (old.as_slice(), new.as_slice()) {
            for limit in limits::compare(old, new, place.direction) {
                self.changes.breaks_wire(place.key(limit));
            }
        }
        for kind in [Type::Object, Type::Array] {
            self.variants(&of_type(&old, kind), &of_type(&new, kind), kind, place);
        }
    }

    fn values(&mut self, old: &Listed, new: &Listed, place: &Place) {
        // A client has to expect other values of an open enum.
        let is_break = place.direction == Direction::Response && old.is_closed;
        if is_break && !new.is_closed {
            self.changes.breaks_code(place.key("values became open"));
        }
        if place.direction == Direction::Request && new.is_listed {
            if !old.is_listed {
                self.changes.breaks_wire(place.key("limited to listed values"));
            }
            for value in old.values.difference(&new.values) {
                self.changes.breaks_wire(place.key(format_args!("value {value} removed")));
            }
        }
        for value in new.values.difference(&old.values) {
            let key = place.key(format_args!("value {value} added"));
            if is_break { self.changes.breaks_wire(key) } else { self.changes.adds(key) }
        }
    }

    /// Compares the objects or arrays of two unions; of most schemas that is one on each side.
    fn variants(&mut self, old: &[&Alternative<'a>], new: &[&Alternative<'a>], kind: Type, place: &Place) {
        if let ([old], [new]) = (old, new) {
            self.variant(old, new, kind, place);
            return;
        }
        let (old, new) = Variants::of_both((self.old, old), (self.new, new));
        for (name, variant) in &old.named {
            if let Some(other) = new.named.get(name) {
                self.variant(variant, other, kind, &place.variant(name));
            } else if place.direction == Direction::Request {
                self.changes.breaks_wire(place.key(format_args!("variant {name} removed")));
            }
        }
        for name in new.named.keys().filter(|name| !old.named.contains_key(*name)) {
            let key = place.key(format_args!("variant {name} added"));
            if place.direction == Direction::Request || old.are_open() {
                self.changes.adds(key);
            } else if new.are_open() && name == OTHER {
                self.changes.breaks_code(place.key("variants became open"));
            } else {
                self.changes.breaks_wire(key);
            }
        }
    }

    fn variant(&mut self, old: &Alternative<'a>, new: &Alternative<'a>, kind: Type, place: &Place) {
        if kind == Type::Array {
            self.schemas(&old.keyword("items"), &new.keyword("items"), &place.items());
        } else {
            self.properties(old, new, place);
            self.other_properties(old, new, place);
        }
    }

    fn properties(&mut self, old: &Alternative<'a>, new: &Alternative<'a>, place: &Place) {
        let (old_properties, new_properties) = (old.properties(), new.properties());
        let (old_required, new_required) = (old.required(), new.required());
        for (name, schemas) in &old_properties {
            let field = place.field(name);
            let Some(new_schemas) = new_properties.get(name) else {
                self.changes.breaks_wire(field.key("removed"));
                continue;
            };
            match (place.direction, old_required.contains(name), new_required.contains(name)) {
                (Direction::Request, false, true) => self.changes.breaks_wire(field.key("became required")),
                (Direction::Response, true, false) => self.changes.breaks_wire(field.key("became optional")),
                _ => {}
            }
            self.schemas(schemas, new_schemas, &field);
        }
        for name in new_properties.keys().filter(|name| !old_properties.contains_key(*name)) {
            let field = place.field(name);
            if place.direction == Direction::Request && new_required.contains(name) {
                self.changes.breaks_wire(field.key("added as required"));
            } else {
                self.changes.adds(field.key("added"));
            }
        }
    }

    /// Compares `additionalProperties`: the values of a map, or whether unknown fields are refused.
    fn other_properties(&mut self, old: &Alternative<'a>, new: &Alternative<'a>, place: &Place) {
        let (old, new) = (old.keyword("additionalProperties"), new.keyword("additionalProperties"));
        let is_refused = |schemas: &[&Value]| schemas.iter().any(|schema| schema.as_bool() == Some(false));
        if place.direction == Direction::Request && is_refused(&new) && !is_refused(&old) {
            self.changes.breaks_wire(place.key("refuses unknown fields"));
        }
        let of_map = |schemas: &[&'a Value]| -> Vec<&'a Value> {
            schemas.iter().copied().filter(|schema| schema.is_object()).collect()
        };
        let (old_values, new_values) = (of_map(&old), of_map(&new));
        match (old_values.is_empty(), new_values.is_empty()) {
            (false, false) => self.schemas(&old_values, &new_values, &place.items()),
            (false, true) if place.direction == Direction::Response || is_refused(&new) => {
                self.changes.breaks_wire(place.items().key("removed"));
            }
            _ => {}
        }
    }
}

fn identity(schemas: &[&Value]) -> Identity {
    schemas.iter().map(|schema| ptr::from_ref(*schema)).collect()
}

fn without_null<'v, 'a>(alternatives: &'v [Alternative<'a>]) -> Vec<&'v Alternative<'a>> {
    alternatives.iter().filter(|alternative| !alternative.is_null()).collect()
}

fn of_type<'v, 'a>(alternatives: &[&'v Alternative<'a>], kind: Type) -> Vec<&'v Alternative<'a>> {
    alternatives.iter().copied().filter(|alternative| alternative.has_type(kind)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Compares two schemas, which have their components in `$defs`, and returns the breaks without the label.
    fn breaks(direction: Direction, old: &Value, new: &Value) -> Vec<String> {
        let mut comparison = Comparison::new(Document::new(old), Document::new(new));
        comparison.schemas(&[old], &[new], &Place::new(direction, "it".to_owned()));
        let keys = comparison.changes.breaks.into_keys();
        keys.map(|key| key.strip_prefix("it ").unwrap().to_owned()).collect()
    }

    fn request(old: &Value, new: &Value) -> Vec<String> {
        breaks(Direction::Request, old, new)
    }

    fn response(old: &Value, new: &Value) -> Vec<String> {
        breaks(Direction::Response, old, new)
    }

    /// Returns an object with some required and some optional fields of any type.
    fn object(required: &[&str], optional: &[&str]) -> Value {
        let fields = required.iter().chain(optional);
        let properties: serde_json::Map<String, Value> =
            fields.map(|name| ((*name).to_owned(), json!({}))).collect();
        json!({"type": "object", "required": required, "properties": properties})
    }

    const NONE: [&str; 0] = [];

    #[test]
    fn a_response_can_gain_fields_but_lose_none() {
        let (old, new) = (object(&["a"], &["b"]), object(&["a"], &["c"]));
        assert_eq!(response(&old, &new), ["/b removed"]);
        assert_eq!(response(&old, &object(&[], &["a", "b"])), ["/a became optional"]);
        assert_eq!(response(&old, &object(&["a", "b"], &[])), NONE);
    }

    #[test]
    fn a_request_can_gain_optional_fields_but_lose_none() {
        let (old, new) = (object(&["a"], &["b"]), object(&["a", "c"], &["d"]));
        assert_eq!(request(&old, &new), ["/b removed", "/c added as required"]);
        assert_eq!(request(&old, &object(&["a", "b"], &[])), ["/b became required"]);
        assert_eq!(request(&old, &object(&[], &["a", "b"])), NONE);
    }

    #[test]
    fn fields_are_found_in_arrays_maps_references_and_all_of() {
        let old = json!({
            "type": "object",
            "properties": {"data": {"type": "array", "items": {"$ref": "#/$defs/Session"}}},
            "$defs": {
                "Session": {"allOf": [{"$ref": "#/$defs/Base"}, object(&["lock"], &[])]},
                "Base": {
                    "type": "object",
                    "properties": {"labels": {"type": "object", "additionalProperties": object(&["value"], &[])}},
                },
            },
        });
        let mut new = old.clone();
        new["$defs"]["Session"]["allOf"][1] = object(&[], &[]);
        new["$defs"]["Base"]["properties"]["labels"]["additionalProperties"] = object(&[], &[]);
        let expected = ["/data/*/labels/*/value removed", "/data/*/lock removed"];
        assert_eq!(response(&old, &new), expected);
        assert_eq!(request(&old, &new), expected);
    }

    #[test]
    fn a_schema_that_was_moved_into_components_or_renamed_is_the_same() {
        let node = |reference: &str| {
            json!({
                "type": "object",
                "required": ["name", "children"],
                "properties": {
                    "name": {"type": ["string", "null"]},
                    "children": {"type": "array", "items": {"$ref": reference}},
                },
            })
        };
        let mut inline = node("#/$defs/Node");
        inline["$defs"] = json!({"Node": node("#/$defs/Node")});
        let moved = json!({
            "allOf": [{"$ref": "#/$defs/Alias"}],
            "$defs": {"Alias": {"$ref": "#/$defs/Tree"}, "Tree": node("#/$defs/Tree")},
        });
        for (old, new) in [(&inline, &moved), (&moved, &inline)] {
            assert_eq!(response(old, new), NONE);
            assert_eq!(request(old, new), NONE);
        }
        let mut other = moved.clone();
        other["$defs"]["Tree"]["properties"]["name"] = json!({"type": "integer"});
        assert_eq!(
            response(&inline, &other),
            [
                "/children/*/children/*/name type changed from string to integer",
                "/children/*/name type changed from string to integer",
                "/name type changed from string to integer",
            ]
        );
    }

    #[test]
    fn a_type_is_wider_for_one_side_and_narrower_for_the_other() {
        let (text, number) = (json!({"type": "string"}), json!({"type": "number"}));
        assert_eq!(response(&text, &number), ["type changed from string to number"]);
        let integer = json!({"type": "integer"});
        assert_eq!(response(&number, &integer), NONE);
        assert_eq!(response(&integer, &number).len(), 1);
        assert_eq!(request(&integer, &number), NONE);
        assert_eq!(request(&number, &integer).len(), 1);
        let either = json!({"oneOf": [text, {"type": "array", "items": text}]});
        assert_eq!(request(&text, &either), NONE);
        assert_eq!(request(&either, &text), ["type changed from array or string to string"]);
        assert_eq!(response(&text, &either), ["type changed from string to array or string"]);
        assert_eq!(request(&json!({}), &text), ["type changed from any to string"]);
    }

    #[test]
    fn null_can_be_written_in_two_ways() {
        let text = json!({"type": "string"});
        let nullable = json!({"type": ["string", "null"]});
        let union = json!({"oneOf": [{"type": "null"}, text]});
        for null in [&nullable, &union] {
            assert_eq!(response(&text, null), ["became nullable"]);
            assert_eq!(response(null, &text), NONE);
            assert_eq!(request(null, &text), ["does not accept null"]);
            assert_eq!(request(&text, null), NONE);
        }
        assert_eq!(response(&nullable, &union), NONE);
        assert_eq!(request(&union, &nullable), NONE);
    }

    fn closed(values: &[&str]) -> Value {
        json!({"type": "string", "enum": values})
    }

    fn open(values: &[&str]) -> Value {
        json!({"type": "string", "enum": values, "x-extensible-enum": values})
    }

    #[test]
    fn a_response_can_lose_values_and_an_open_enum_can_gain_them() {
        let text = json!({"type": "string"});
        assert_eq!(response(&closed(&["a"]), &closed(&["a", "b"])), ["value \"b\" added"]);
        assert_eq!(response(&closed(&["a", "b"]), &closed(&["a"])), NONE);
        assert_eq!(response(&open(&["a"]), &open(&["b"])), NONE);
        assert_eq!(response(&open(&["a"]), &json!({"type": "string", "x-extensible-enum": ["a"]})), NONE);
        assert_eq!(response(&closed(&["a"]), &open(&["a"])), ["values became open"]);
        assert_eq!(response(&closed(&["a"]), &text), ["values became open"]);
        assert_eq!(response(&text, &closed(&["a"])), NONE);
        let either = json!({"oneOf": [closed(&["a"]), {"type": "object"}]});
        assert_eq!(response(&either, &json!({"type": "object"})), NONE);
    }

    #[test]
    fn a_request_can_gain_values_but_lose_none() {
        let text = json!({"type": "string"});
        assert_eq!(request(&closed(&["a"]), &closed(&["a", "b"])), NONE);
        assert_eq!(request(&closed(&["a", "b"]), &closed(&["a"])), ["value \"b\" removed"]);
        assert_eq!(request(&open(&["a", "b"]), &open(&["a"])), ["value \"b\" removed"]);
        assert_eq!(request(&text, &closed(&["a"])), ["limited to listed values"]);
        assert_eq!(request(&closed(&["a"]), &text), NONE);
        let nullable = json!({"oneOf": [closed(&["a"]), {"type": "null"}]});
        assert_eq!(request(&nullable, &nullable), NONE);
    }

    #[test]
    fn limits_are_compared_beside_null() {
        let text = |limit: u64| json!({"type": ["string", "null"], "maxLength": limit});
        assert_eq!(request(&text(10), &text(5)), ["maxLength lowered to 5"]);
        let union = json!({"oneOf": [{"type": "null"}, {"type": "string", "maxLength": 4}]});
        assert_eq!(request(&text(10), &union), ["maxLength lowered to 4"]);
    }

    #[test]
    fn a_request_that_refuses_unknown_fields_is_narrower() {
        let (lenient, mut strict) = (object(&[], &["a"]), object(&[], &["a"]));
        strict["additionalProperties"] = json!(false);
        assert_eq!(request(&lenient, &strict), ["refuses unknown fields"]);
        assert_eq!(request(&strict, &lenient), NONE);
        assert_eq!(response(&lenient, &strict), NONE);
    }

    #[test]
    fn the_values_of_a_map_are_fields() {
        let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let (none, mut strict) = (json!({"type": "object"}), json!({"type": "object"}));
        strict["additionalProperties"] = json!(false);
        assert_eq!(response(&map, &none), ["/* removed"]);
        assert_eq!(request(&map, &none), NONE);
        assert_eq!(request(&map, &strict), ["/* removed", "refuses unknown fields"]);
        let numbers = json!({"type": "object", "additionalProperties": {"type": "integer"}});
        assert_eq!(response(&map, &numbers), ["/* type changed from string to integer"]);
    }

    fn variant(kind: &Value, field: &str) -> Value {
        json!({"type": "object", "required": ["kind", field], "properties": {"kind": kind, field: {}}})
    }

    #[test]
    fn variants_of_a_union_are_compared_by_their_kind() {
        let (a, b) = (variant(&closed(&["a"]), "x"), variant(&closed(&["b"]), "y"));
        let old = json!({"oneOf": [a, b]});
        let new = json!({"oneOf": [b, variant(&closed(&["a"]), "z"), variant(&closed(&["c"]), "x")]});
        assert_eq!(response(&old, &new), ["[kind=a]/x removed", "variant kind=c added"]);
        assert_eq!(request(&old, &new), ["[kind=a]/x removed", "[kind=a]/z added as required"]);
        let one = json!({"oneOf": [b, {"type": "null"}]});
        assert_eq!(response(&json!({"oneOf": [a, b, {"type": "null"}]}), &one), NONE);
        assert_eq!(request(&json!({"oneOf": [a, b, {"type": "null"}]}), &one), ["variant kind=a removed"]);
    }

    #[test]
    fn an_open_union_can_gain_variants() {
        let (a, c) = (variant(&closed(&["a"]), "x"), variant(&closed(&["c"]), "x"));
        let any = json!({"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}});
        let (old, new) = (json!({"oneOf": [a, any]}), json!({"oneOf": [a, c, any]}));
        assert_eq!(response(&old, &new), NONE);
        assert_eq!(response(&json!({"oneOf": [a]}), &old), ["variants became open"]);
    }
}
