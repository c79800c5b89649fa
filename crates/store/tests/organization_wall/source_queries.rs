//! The queries in the source code of this crate: the string literals in calls of sqlx's macros. A macro of ours that adds
//! a part to a query is expanded.

use std::path::{Path, PathBuf};

use greenroom_domain::deployment::DeploymentStatus;

use crate::system::sources;
use crate::tokens::{Token, read};

const SQLX_MACROS: [&str; 3] = ["query", "query_as", "query_scalar"];
/// Its pattern has repetitions, unlike those of the other macros.
const WITH_FINAL_STATUSES: &str = "query_with_final_statuses";

pub struct SourceQuery {
    /// The file that calls the macro.
    pub path: PathBuf,
    pub sql: String,
}

/// A `macro_rules!` with one arm, whose body calls one of sqlx's macros.
struct Definition {
    path: PathBuf,
    name: String,
    /// The names of the leading parameters. What follows them are arguments of the query.
    parameters: Vec<String>,
    body: Vec<Token>,
}

/// Returns the queries of all files below `src`.
pub fn queries() -> Vec<SourceQuery> {
    let files: Vec<(PathBuf, Vec<Token>)> = sources("src")
        .into_iter()
        .map(|path| {
            let tokens = read(&std::fs::read_to_string(&path).unwrap());
            (path, tokens)
        })
        .collect();
    let definitions: Vec<Definition> =
        files.iter().flat_map(|(path, tokens)| definitions(path, tokens)).collect();
    let mut found = Vec::new();
    for (path, tokens) in &files {
        find(path, tokens, &definitions, &mut found);
    }
    found
}

/// Returns the definitions in a file that contain queries.
fn definitions(path: &Path, tokens: &[Token]) -> Vec<Definition> {
    let define = |window: &[Token]| {
        let [
            Token::Identifier(macro_name),
            Token::Punctuation('!'),
            Token::Identifier(name),
            Token::Group(rules),
        ] = window
        else {
            return None;
        };
        if macro_name != "macro_rules" || name == WITH_FINAL_STATUSES || !calls_sqlx(rules) {
            return None;
        }
        let [
            Token::Group(pattern),
            Token::Punctuation('='),
            Token::Punctuation('>'),
            Token::Group(body),
            rest @ ..,
        ] = &rules[..]
        else {
            panic!("{}: the rules of {name}! cannot be read", path.display());
        };
        assert!(rest.len() < 2, "{}: {name}! has more than one arm", path.display());
        let parameters = arguments(pattern).iter().map_while(|tokens| parameter(tokens)).collect();
        Some(Definition { path: path.to_owned(), name: name.clone(), parameters, body: body.clone() })
    };
    tokens.windows(4).filter_map(define).collect()
}

/// Returns the name of a parameter such as `$name:literal`.
fn parameter(tokens: &[Token]) -> Option<String> {
    match tokens {
        [Token::Punctuation('$'), Token::Identifier(name), Token::Punctuation(':'), Token::Identifier(_)] => {
            Some(name.clone())
        }
        _ => None,
    }
}

fn calls_sqlx(tokens: &[Token]) -> bool {
    tokens.iter().any(|token| match token {
        Token::Identifier(word) => SQLX_MACROS.contains(&word.as_str()),
        Token::Group(group) => calls_sqlx(group),
        Token::Text(_) | Token::Literal(_) | Token::Punctuation(_) => false,
    })
}

fn find(path: &Path, tokens: &[Token], definitions: &[Definition], found: &mut Vec<SourceQuery>) {
    let mut rest = tokens;
    while let Some((token, after)) = rest.split_first() {
        rest = after;
        match (token, after) {
            // The queries of a definition are found in its calls.
            (Token::Identifier(word), [_, _, _, after @ ..]) if word == "macro_rules" => rest = after,
            (Token::Identifier(name), [Token::Punctuation('!'), Token::Group(given), ..]) => {
                let given = arguments(given);
                let sql = match name.as_str() {
                    WITH_FINAL_STATUSES => Some(with_final_statuses(&given)),
                    name if SQLX_MACROS.contains(&name) => Some(text(&given)),
                    _ => None,
                };
                if let Some(sql) = sql {
                    found.push(SourceQuery { path: path.to_owned(), sql });
                    rest = &after[2..];
                } else if let Some(definition) = resolve(name, path, definitions) {
                    find(path, &definition.expand(&definition.body, &given), definitions, found);
                    rest = &after[2..];
                }
            }
            (Token::Group(group), _) => find(path, group, definitions, found),
            _ => {}
        }
    }
}

/// Returns the definition that a call means: that of its file, or else of its folder, or else the only one.
fn resolve<'a>(name: &str, path: &Path, definitions: &'a [Definition]) -> Option<&'a Definition> {
    let named: Vec<&Definition> = definitions.iter().filter(|definition| definition.name == name).collect();
    let in_file = named.iter().find(|definition| definition.path == path);
    let in_folder = || named.iter().find(|definition| definition.path.parent() == path.parent());
    let only = || if let [only] = &named[..] { Some(only) } else { None };
    let found = in_file.or_else(in_folder).or_else(only);
    assert!(named.is_empty() || found.is_some(), "{}: which {name}! is called?", path.display());
    found.copied()
}

impl Definition {
    /// Replaces the parameters in these tokens of the body.
    fn expand(&self, tokens: &[Token], given: &[&[Token]]) -> Vec<Token> {
        let mut expanded = Vec::new();
        let mut rest = tokens;
        while let Some((token, after)) = rest.split_first() {
            rest = after;
            match (token, after) {
                (Token::Punctuation('$'), [Token::Identifier(name), ..]) => {
                    let position = self.parameters.iter().position(|parameter| parameter == name);
                    let argument = position.and_then(|position| given.get(position));
                    expanded.extend(argument.into_iter().flat_map(|tokens| tokens.iter().cloned()));
                    rest = &after[1..];
                }
                (Token::Group(group), _) => expanded.push(Token::Group(self.expand(group, given))),
                _ => expanded.push(token.clone()),
            }
        }
        expanded
    }
}

/// Joins the parts of the query in the arguments of a macro: the first argument that begins with a string literal.
fn text(arguments: &[&[Token]]) -> String {
    let text = arguments.iter().find(|argument| matches!(argument.first(), Some(Token::Text(_))));
    let text = text.unwrap_or_else(|| panic!("no string literal in {arguments:?}"));
    text.iter()
        .map(|token| match token {
            Token::Text(part) => part.as_str(),
            Token::Punctuation('+') => "",
            other => panic!("{other:?} is no part of a query: {text:?}"),
        })
        .collect()
}

/// Returns the query of a call of `query_with_final_statuses!`, whose second argument is the list of its parts.
fn with_final_statuses(given: &[&[Token]]) -> String {
    let ends: Vec<String> = DeploymentStatus::FINAL.iter().map(|status| format!("'{status}'")).collect();
    let [_, [Token::Group(parts)], ..] = given else { panic!("no list of parts in {given:?}") };
    let parts: Vec<String> = arguments(parts).iter().map(|part| text(&[part])).collect();
    parts.join(&format!("({})", ends.join(", ")))
}

/// Splits tokens at their commas.
fn arguments(tokens: &[Token]) -> Vec<&[Token]> {
    tokens.split(|token| *token == Token::Punctuation(',')).filter(|argument| !argument.is_empty()).collect()
}
