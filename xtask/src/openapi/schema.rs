//! Schemas of an OpenAPI document by their meaning: references are followed, and `allOf`, `oneOf` and `anyOf` are
//! expanded. So a schema is the same whether it is written inline or as a component of any name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

#[derive(Clone, Copy)]
pub(super) struct Document<'a> {
    root: &'a Value,
}

/// One branch of a union, or the only one: schemas that all hold for a value.
pub(super) struct Alternative<'a> {
    parts: Vec<&'a Value>,
    /// Never empty.
    types: BTreeSet<Type>,
}

/// A type of JSON values. Each number is an `Integer` or another `Number`; the schema type `number` is both.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Type {
    Array,
    Boolean,
    Integer,
    Null,
    Number,
    Object,
    String,
}

/// The values that the scalars of a schema list.
pub(super) struct Listed {
    /// As JSON texts.
    pub(super) values: BTreeSet<String>,
    /// Whether each scalar has a list.
    pub(super) is_listed: bool,
    /// Whether no other values may be added: each scalar has a list, and none is marked `x-extensible-enum`.
    pub(super) is_closed: bool,
}

impl<'a> Document<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root }
    }

    fn target(self, reference: &str) -> Option<&'a Value> {
        self.root.pointer(reference.strip_prefix('#')?)
    }

    /// Follows the reference of a parameter, body or response. One that leads nowhere is returned as it is.
    pub(super) fn resolve(self, value: &'a Value) -> &'a Value {
        let mut resolved = value;
        let mut followed = Vec::new();
        while let Some(reference) = resolved.get("$ref").and_then(Value::as_str) {
            match self.target(reference) {
                Some(target) if !followed.contains(&reference) => resolved = target,
                _ => break,
            }
            followed.push(reference);
        }
        resolved
    }

    /// Returns the alternatives of schemas that all hold. Without schemas, any value is valid.
    pub(super) fn alternatives(self, schemas: &[&'a Value]) -> Vec<Alternative<'a>> {
        let mut expanded = vec![Vec::new()];
        for &schema in schemas {
            expanded = product(&expanded, &self.expand(schema, &mut Vec::new()));
        }
        expanded.into_iter().filter_map(Alternative::new).collect()
    }

    /// `open` has the references that are being followed: a schema that is nothing but a reference to itself has no
    /// alternatives.
    fn expand(self, schema: &'a Value, open: &mut Vec<&'a str>) -> Vec<Vec<&'a Value>> {
        let mut alternatives = vec![vec![schema]];
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
            && let Some(target) = self.target(reference)
        {
            if open.contains(&reference) {
                return Vec::new();
            }
            open.push(reference);
            alternatives = product(&alternatives, &self.expand(target, open));
            open.pop();
        }
        for part in list(schema, "allOf") {
            alternatives = product(&alternatives, &self.expand(part, open));
        }
        for keyword in ["oneOf", "anyOf"] {
            let mut branches = Vec::new();
            for branch in list(schema, keyword) {
                branches.extend(self.expand(branch, open));
            }
            if schema.get(keyword).is_some() {
                alternatives = product(&alternatives, &branches);
            }
        }
        alternatives
    }
}

impl<'a> Alternative<'a> {
    /// Returns `None` if the parts exclude each other.
    fn new(parts: Vec<&'a Value>) -> Option<Self> {
        let mut types = BTreeSet::from(Type::ALL);
        for declared in parts.iter().filter_map(|part| declared_types(part)) {
            types.retain(|kind| declared.contains(kind));
        }
        (!types.is_empty()).then_some(Self { parts, types })
    }

    pub(super) fn has_type(&self, kind: Type) -> bool {
        self.types.contains(&kind)
    }

    pub(super) fn is_null(&self) -> bool {
        self.types.iter().all(|kind| *kind == Type::Null)
    }

    fn is_scalar(&self) -> bool {
        let scalars = [Type::Boolean, Type::Integer, Type::Number, Type::String];
        scalars.into_iter().any(|kind| self.has_type(kind))
    }

    /// Returns the values of a keyword in all parts.
    pub(super) fn keyword(&self, name: &str) -> Vec<&'a Value> {
        self.parts.iter().copied().filter_map(|part| part.get(name)).collect()
    }

    /// Returns the schemas of each property.
    pub(super) fn properties(&self) -> BTreeMap<&'a str, Vec<&'a Value>> {
        let mut properties: BTreeMap<&'a str, Vec<&'a Value>> = BTreeMap::new();
        for map in self.keyword("properties").into_iter().filter_map(Value::as_object) {
            for (name, schema) in map {
                properties.entry(name.as_str()).or_default().push(schema);
            }
        }
        properties
    }

    pub(super) fn required(&self) -> BTreeSet<&'a str> {
        let lists = self.keyword("required").into_iter().filter_map(Value::as_array);
        lists.flatten().filter_map(Value::as_str).collect()
    }
}

impl Type {
    const ALL: [Type; 7] =
        [Type::Array, Type::Boolean, Type::Integer, Type::Null, Type::Number, Type::Object, Type::String];

    fn name(self) -> &'static str {
        match self {
            Type::Array => "array",
            Type::Boolean => "boolean",
            Type::Integer => "integer",
            Type::Null => "null",
            Type::Number => "number",
            Type::Object => "object",
            Type::String => "string",
        }
    }

    fn of_value(value: &Value) -> Type {
        match value {
            Value::Null => Type::Null,
            Value::Bool(_) => Type::Boolean,
            Value::Number(number) if number.is_f64() => Type::Number,
            Value::Number(_) => Type::Integer,
            Value::String(_) => Type::String,
            Value::Array(_) => Type::Array,
            Value::Object(_) => Type::Object,
        }
    }
}

impl Listed {
    /// Returns `None` if no alternative is a scalar.
    pub(super) fn of(alternatives: &[Alternative<'_>]) -> Option<Self> {
        let scalars: Vec<_> = alternatives.iter().filter(|alternative| alternative.is_scalar()).collect();
        let (mut values, mut is_listed, mut is_extensible) = (BTreeSet::new(), true, false);
        for alternative in &scalars {
            let extensible = alternative.keyword("x-extensible-enum");
            let constants = alternative.keyword("const");
            let lists = alternative.keyword("enum").into_iter().chain(extensible.iter().copied());
            let own: Vec<&Value> = lists.filter_map(Value::as_array).flatten().chain(constants).collect();
            is_listed &= !own.is_empty();
            is_extensible |= !extensible.is_empty();
            values.extend(own.iter().filter(|value| !value.is_null()).map(|value| value.to_string()));
        }
        let is_closed = is_listed && !is_extensible;
        (!scalars.is_empty()).then_some(Self { values, is_listed, is_closed })
    }
}

/// Returns the types of all alternatives; all types, if a schema refers to nothing but itself.
pub(super) fn types(alternatives: &[Alternative<'_>]) -> BTreeSet<Type> {
    if alternatives.is_empty() {
        return BTreeSet::from(Type::ALL);
    }
    alternatives.iter().flat_map(|alternative| alternative.types.iter().copied()).collect()
}

/// Formats types without `null`, for a key.
pub(super) fn type_names(types: &BTreeSet<Type>) -> String {
    if types.len() == Type::ALL.len() {
        return "any".to_owned();
    }
    let is_shown = |kind: &Type| match kind {
        Type::Null => types.len() == 1,
        Type::Integer => !types.contains(&Type::Number),
        _ => true,
    };
    let names: Vec<&str> = types.iter().copied().filter(is_shown).map(Type::name).collect();
    names.join(" or ")
}

/// Returns the types that a schema allows by its own keywords; `None` if it does not limit them.
fn declared_types(schema: &Value) -> Option<BTreeSet<Type>> {
    let has = |keyword: &str| schema.get(keyword).is_some();
    let named = |name: &Value| Type::ALL.into_iter().find(|kind| name.as_str() == Some(kind.name()));
    let mut types: BTreeSet<Type> = if let Some(kind) = schema.get("type") {
        kind.as_array().map_or(std::slice::from_ref(kind), Vec::as_slice).iter().filter_map(named).collect()
    } else if let Some(value) = schema.get("const") {
        BTreeSet::from([Type::of_value(value)])
    } else if has("enum") {
        list(schema, "enum").iter().map(Type::of_value).collect()
    } else if has("properties") || has("required") || has("additionalProperties") {
        BTreeSet::from([Type::Object])
    } else if has("items") {
        BTreeSet::from([Type::Array])
    } else {
        return None;
    };
    if types.contains(&Type::Number) {
        types.insert(Type::Integer);
    }
    Some(types)
}

fn list<'a>(schema: &'a Value, keyword: &str) -> &'a [Value] {
    schema.get(keyword).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns each alternative of one side with each of the other.
fn product<'a>(left: &[Vec<&'a Value>], right: &[Vec<&'a Value>]) -> Vec<Vec<&'a Value>> {
    let mut both = Vec::new();
    for one in left {
        for other in right {
            both.push(one.iter().chain(other).copied().collect());
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(root: &Value) -> Vec<String> {
        let alternatives = Document::new(root).alternatives(&[root]);
        alternatives.iter().map(|alternative| type_names(&alternative.types)).collect()
    }

    #[test]
    fn types_are_declared_or_follow_from_other_keywords() {
        for (schema, expected) in [
            (json!({"type": "string"}), "string"),
            (json!({"type": ["integer", "null"]}), "integer"),
            (json!({"type": "number"}), "number"),
            (json!({"const": 1}), "integer"),
            (json!({"enum": ["a", 1]}), "integer or string"),
            (json!({"properties": {}}), "object"),
            (json!({"items": {}}), "array"),
            (json!({"description": "anything"}), "any"),
            (json!(true), "any"),
            (json!({"type": "null"}), "null"),
        ] {
            assert_eq!(names(&schema), [expected], "{schema}");
        }
    }

    #[test]
    fn unions_are_expanded_and_contradictions_are_left_out() {
        let union = json!({
            "oneOf": [{"$ref": "#/$defs/A"}, {"type": "null"}],
            "$defs": {
                "A": {"allOf": [{"anyOf": [{"type": "string"}, {"type": "array"}]}, {"type": ["array", "object"]}]},
            },
        });
        assert_eq!(names(&union), ["array", "null"]);
    }

    #[test]
    fn parts_of_all_of_and_beside_a_reference_are_one_object() {
        let root = json!({
            "$ref": "#/$defs/A",
            "required": ["b"],
            "allOf": [{"type": "object", "properties": {"b": {"type": "string"}}}],
            "$defs": {"A": {"type": "object", "required": ["a"], "properties": {"a": {}, "b": {}}}},
        });
        let alternatives = Document::new(&root).alternatives(&[&root]);
        let [alternative] = alternatives.as_slice() else { panic!("{}", alternatives.len()) };
        assert_eq!(alternative.required(), BTreeSet::from(["a", "b"]));
        let counts: Vec<_> =
            alternative.properties().into_iter().map(|(name, schemas)| (name, schemas.len())).collect();
        assert_eq!(counts, [("a", 1), ("b", 2)]);
    }

    #[test]
    fn references_to_themselves_end() {
        let root = json!({
            "$ref": "#/$defs/A",
            "$defs": {
                "A": {"oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]},
                "B": {"$ref": "#/$defs/B"},
            },
        });
        assert_eq!(names(&root), Vec::<String>::new());
        let document = json!({"a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}});
        let resolved = Document::new(&document).resolve(&document["a"]);
        assert!(resolved.get("$ref").is_some(), "{resolved}");
    }

    #[test]
    fn values_are_listed_by_enums_and_constants() {
        let listed = |schema: Value| {
            let listed = Listed::of(&Document::new(&schema).alternatives(&[&schema])).unwrap();
            (listed.values.into_iter().collect::<Vec<_>>().join(" "), listed.is_listed, listed.is_closed)
        };
        let closed = json!({"oneOf": [{"type": "string", "enum": ["a"]}, {"const": "b"}, {"type": "null"}]});
        assert_eq!(listed(closed), ("\"a\" \"b\"".to_owned(), true, true));
        let open = json!({"type": "string", "x-extensible-enum": ["a"]});
        assert_eq!(listed(open), ("\"a\"".to_owned(), true, false));
        let unlimited = json!({"oneOf": [{"type": "string", "enum": ["a"]}, {"type": "integer"}]});
        assert_eq!(listed(unlimited), ("\"a\"".to_owned(), false, false));
        let object = json!({"type": "object"});
        assert!(Listed::of(&Document::new(&object).alternatives(&[&object])).is_none());
    }
}
