//! The tokens of Rust code, with the values of its string literals: enough to find the calls of macros and their queries.

use proc_macro2::{TokenStream, TokenTree};
use syn::LitStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Identifier(String),
    /// The value of a string literal.
    Text(String),
    /// A literal of another type, as it is in the code.
    Literal(String),
    Punctuation(char),
    /// What is between two parentheses, brackets or braces.
    Group(Vec<Token>),
}

pub fn read(code: &str) -> Vec<Token> {
    tokens(code.parse().unwrap())
}

fn tokens(stream: TokenStream) -> Vec<Token> {
    stream.into_iter().map(token).collect()
}

fn token(tree: TokenTree) -> Token {
    match tree {
        TokenTree::Group(group) => Token::Group(tokens(group.stream())),
        TokenTree::Ident(identifier) => Token::Identifier(identifier.to_string()),
        TokenTree::Punct(punctuation) => Token::Punctuation(punctuation.as_char()),
        TokenTree::Literal(literal) => {
            let source = literal.to_string();
            let string = syn::parse_str::<LitStr>(&source);
            string.map_or(Token::Literal(source), |string| Token::Text(string.value()))
        }
    }
}

#[test]
fn string_literals_have_the_values_that_they_have_in_rust() {
    let code = r####"
        // "a comment's text
        f::<'a>('"', '\'', b"bytes", r#type, r"raw \ text", r##"with "# in it"##, "a \"b\" \
            c\\")
    "####;
    let [.., Token::Group(given)] = &read(code)[..] else { panic!("no call") };
    let literals: Vec<&str> = given
        .iter()
        .filter_map(|token| if let Token::Text(text) = token { Some(text.as_str()) } else { None })
        .collect();
    assert_eq!(literals, [r"raw \ text", r##"with "# in it"##, r#"a "b" c\"#]);
}
