//! Translates errors of the YAML parser to diagnostics for the author of the file.

use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Error, MessageFormatter, Spanned, UserMessageFormatter};

use super::diagnostic::{Diagnostic, Document, Path, quote};
use super::limits;
use super::located::Position;
use super::outline::{Kind, Outline};

/// `outline` is the structure of the file, if it could be parsed.
pub(super) fn explain(
    error: &Error,
    source: &str,
    document: Document,
    outline: Option<&Spanned<Outline>>,
) -> Diagnostic {
    let at = error.location().map_or(Position::START, Position::from);
    let error = innermost(error);
    // Finds the value at the position of the error. A map starts at the position of its first key, so each
    // error specifies which kinds it applies to.
    let place = |fits: &dyn Fn(Option<Kind>) -> bool| {
        let visit = |position: Position, path: &Path<'_>, kind: Option<Kind>| {
            (position == at && fits(kind)).then(|| Place::new(path, kind))
        };
        outline.and_then(|outline| Outline::find(outline, &document.root(), &visit)).unwrap_or_default()
    };
    let (place, message) = match error {
        Error::SerdeUnknownField { field, expected, .. } => {
            let place = place(&|kind| kind.is_none());
            let message = format!("unknown field {} in {}", quote(field), place.within);
            return Diagnostic::new(at, place.pointer, message).choices(field, expected.iter().copied());
        }
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().map_or_else(|| "this key".to_owned(), quote);
            (place(&|kind| kind.is_none()), format!("{key} stands here for the second time in one map"))
        }
        Error::Unexpected { expected, .. } => {
            let (wanted, expectation) = match *expected {
                "mapping start" => (Kind::Map, "a map of `key: value` lines"),
                "sequence start" => (Kind::List, "a list of lines that start with `- `"),
                _ => (Kind::Value, "a single value"),
            };
            let place = place(&|kind| kind.is_some_and(|kind| kind != wanted));
            let message = format!("{} must be {expectation}{}", place.subject, place.instead);
            (place, message)
        }
        Error::InvalidScalar { .. } => {
            let place = place(&|kind| kind.is_some());
            let written =
                source_text(source, at).map_or_else(String::new, |text| format!(", not {}", quote(text)));
            let message = format!("{} must be a whole number{written}", place.subject);
            (place, message)
        }
        Error::NullIntoString { .. } => {
            let place = place(&|kind| kind == Some(Kind::Nothing));
            let message = format!("{} has no value; write `\"\"` for an empty one", place.subject);
            (place, message)
        }
        Error::UnsupportedTag { tag, .. } => {
            (Place::default(), format!("the tag {} is not supported; leave it out", quote(tag)))
        }
        Error::UnknownAnchor { .. } => {
            (Place::default(), "this alias names an anchor that doesn't stand before it".to_owned())
        }
        error => (Place::default(), unreadable(error, document)),
    };
    Diagnostic::new(at, place.pointer, message)
}

/// The value at the position of the error, as parts of a message.
struct Place {
    pointer: String,
    subject: String,
    within: String,
    instead: &'static str,
}

impl Place {
    fn new(path: &Path<'_>, kind: Option<Kind>) -> Self {
        let instead = match kind {
            None => "",
            Some(Kind::Nothing) => ", but it is empty",
            Some(Kind::Value) => ", not a single value",
            Some(Kind::List) => ", not a list",
            Some(Kind::Map) => ", not a map",
        };
        Self { pointer: path.pointer(), subject: path.subject(), within: path.parent().noun(), instead }
    }
}

impl Default for Place {
    fn default() -> Self {
        Self {
            pointer: String::new(),
            subject: "this".to_owned(),
            within: "this place".to_owned(),
            instead: "",
        }
    }
}

fn innermost(mut error: &Error) -> &Error {
    while let Error::AliasError { error: inner, .. } | Error::WithSnippet { error: inner, .. } = error {
        error = inner;
    }
    error
}

/// Errors of the whole text: a limit is exceeded, or it is not YAML.
fn unreadable(error: &Error, document: Document) -> String {
    match error {
        Error::Budget { breach, .. } => limit(breach, document),
        Error::MultipleDocuments { .. } => one_document(document),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasExpansionLimitExceeded { .. } => {
            format!("its aliases expand to more than {} elements", limits::REPLAYED_EVENTS)
        }
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            "an anchor must not contain its own alias".to_owned()
        }
        Error::ExternalMessage { msg, .. } if msg.contains("nesting") || msg.contains("recursion") => {
            too_deep(document)
        }
        error => {
            let message = UserMessageFormatter.format_message(error);
            let message =
                message.replace("scalar", "value").replace("sequence", "list").replace("mapping", "map");
            // The message may quote the file, and terminals print it.
            let printable = message.chars().take(200).filter(|character| !character.is_control());
            format!("this can't be read as YAML: {}", printable.collect::<String>())
        }
    }
}

fn limit(breach: &BudgetBreach, document: Document) -> String {
    match breach {
        BudgetBreach::Depth { .. } => too_deep(document),
        BudgetBreach::Documents { .. } => one_document(document),
        BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. } => {
            format!("{} has more than {} elements", document.noun(), limits::NODES)
        }
        BudgetBreach::Aliases { .. } => {
            format!("{} has more than {} aliases", document.noun(), limits::ALIASES)
        }
        BudgetBreach::Anchors { .. } => {
            format!("{} has more than {} anchors", document.noun(), limits::ALIASES)
        }
        BudgetBreach::MergeKeys { .. } => {
            format!("{} has more than {} merge keys", document.noun(), limits::ALIASES)
        }
        BudgetBreach::RecordedAnchorEvents { .. } => {
            format!("its aliases expand to more than {} elements", limits::REPLAYED_EVENTS)
        }
        _ => format!("its aliases expand to more than {} bytes", limits::SCALAR_BYTES),
    }
}

fn too_deep(document: Document) -> String {
    format!("{} nests deeper than {} levels", document.noun(), limits::DEPTH)
}

fn one_document(document: Document) -> String {
    format!("{} is one YAML document; here a second one starts", document.noun())
}

/// Returns the value that starts at a position.
fn source_text(source: &str, at: Position) -> Option<&str> {
    let line = source.lines().nth(usize::try_from(at.line).ok()?.checked_sub(1)?)?;
    let start = line.char_indices().nth(usize::try_from(at.column).ok()?.checked_sub(1)?)?.0;
    let text = line.get(start..)?.split([',', '}', ']', '#']).next()?.trim();
    (!text.is_empty() && !text.starts_with('*')).then_some(text)
}
