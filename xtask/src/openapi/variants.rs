//! Pairs the variants of two unions, by the property that distinguishes them, such as `kind`.

use std::collections::{BTreeMap, BTreeSet};

use super::schema::{Alternative, Document, Listed};

/// The name of a variant without a fixed value of the tag. In a union with a tag, it is for values that are added later.
pub(super) const OTHER: &str = "other";

pub(super) struct Variants<'v, 'a> {
    /// By name, such as `kind=runner`.
    pub(super) named: BTreeMap<String, &'v Alternative<'a>>,
    has_tag: bool,
}

type Tags<'a> = BTreeMap<&'a str, String>;

impl<'v, 'a> Variants<'v, 'a> {
    /// Names the variants of both unions by a property that distinguishes them in both, or by their order.
    pub(super) fn of_both(
        (old_document, old): (Document<'a>, &[&'v Alternative<'a>]),
        (new_document, new): (Document<'a>, &[&'v Alternative<'a>]),
    ) -> (Self, Self) {
        let old_tags: Vec<Tags<'a>> = old.iter().map(|variant| tags(old_document, variant)).collect();
        let new_tags: Vec<Tags<'a>> = new.iter().map(|variant| tags(new_document, variant)).collect();
        let (in_old, in_new) = (distinguishing(&old_tags), distinguishing(&new_tags));
        let tag = in_old.intersection(&in_new).next().copied();
        (Self::new(old, &old_tags, tag), Self::new(new, &new_tags, tag))
    }

    fn new(variants: &[&'v Alternative<'a>], tags: &[Tags<'a>], tag: Option<&str>) -> Self {
        let (mut named, mut others) = (BTreeMap::new(), 0_usize);
        for (variant, tags) in variants.iter().zip(tags) {
            let name = if let Some((tag, value)) = tag.and_then(|tag| Some((tag, tags.get(tag)?))) {
                format!("{tag}={}", value.trim_matches('"'))
            } else {
                others += 1;
                if others == 1 { OTHER.to_owned() } else { format!("{OTHER}{others}") }
            };
            named.insert(name, *variant);
        }
        Self { named, has_tag: tag.is_some() }
    }

    /// Returns whether a reader has to expect values of the tag that are not listed.
    pub(super) fn are_open(&self) -> bool {
        self.has_tag && self.named.contains_key(OTHER)
    }
}

/// Returns the required properties of a variant that can have one value only.
fn tags<'a>(document: Document<'a>, variant: &Alternative<'a>) -> Tags<'a> {
    let required = variant.required();
    let mut tags = BTreeMap::new();
    for (name, schemas) in variant.properties() {
        let listed = Listed::of(&document.alternatives(&schemas)).filter(|listed| listed.is_closed);
        let mut values = listed.map(|listed| listed.values).unwrap_or_default();
        if required.contains(name) && values.len() == 1 {
            tags.extend(values.pop_first().map(|value| (name, value)));
        }
    }
    tags
}

/// Returns the properties of which no two variants have the same value.
fn distinguishing<'a>(variants: &[Tags<'a>]) -> BTreeSet<&'a str> {
    let mut values: BTreeMap<&'a str, Vec<&String>> = BTreeMap::new();
    for (name, value) in variants.iter().flatten() {
        values.entry(*name).or_default().push(value);
    }
    values.retain(|_, values| values.iter().collect::<BTreeSet<_>>().len() == values.len());
    values.into_keys().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn names(old: Value, new: Value) -> (Vec<String>, Vec<String>) {
        let (old_document, new_document) = (Document::new(&old), Document::new(&new));
        let (old, new) = (old_document.alternatives(&[&old]), new_document.alternatives(&[&new]));
        let (old, new): (Vec<_>, Vec<_>) = (old.iter().collect(), new.iter().collect());
        let (old, new) = Variants::of_both((old_document, old.as_slice()), (new_document, new.as_slice()));
        (old.named.into_keys().collect(), new.named.into_keys().collect())
    }

    fn variant(kind: &str) -> Value {
        let one = |value: &str| json!({"type": "string", "enum": [value]});
        json!({"type": "object", "required": ["api", "kind"], "properties": {"api": one("v1"), "kind": one(kind)}})
    }

    #[test]
    fn variants_are_named_by_the_property_that_distinguishes_them() {
        let any = json!({"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}});
        let (old, new) = names(
            json!({"oneOf": [variant("a"), variant("b")]}),
            json!({"oneOf": [variant("b"), any, variant("c")]}),
        );
        assert_eq!(old, ["kind=a", "kind=b"]);
        assert_eq!(new, ["kind=b", "kind=c", "other"]);
    }

    #[test]
    fn without_such_a_property_they_are_numbered() {
        let object = json!({"type": "object"});
        let (old, new) = names(object.clone(), json!({"oneOf": [object, variant("a")]}));
        assert_eq!(old, ["other"]);
        assert_eq!(new, ["other", "other2"]);
    }
}
