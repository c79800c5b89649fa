//! Code and prose of a Rust file.

use super::scanner::{Kind, Line, Scanner, is_word, last_identifier};

/// Macros whose string literals are printed or logged.
const PROSE_MACROS: &[&str] = &[
    "trace",
    "debug",
    "info",
    "warn",
    "error",
    "event",
    "print",
    "println",
    "eprint",
    "eprintln",
    "write",
    "writeln",
    "format_args",
    "anyhow",
    "bail",
    "ensure",
    "panic",
    "unreachable",
];
/// Attributes of clap and rustdoc whose value is prose.
const PROSE_ATTRIBUTES: &[&str] = &["about", "long_about", "help", "long_help", "after_help", "doc"];

pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut scanner = Scanner::new(text);
    while let Some(letter) = scanner.peek(0) {
        match letter {
            '/' if scanner.starts_with("//") => scanner.take_line(Kind::Prose),
            '/' if scanner.starts_with("/*") => block_comment(&mut scanner),
            '"' => string(&mut scanner, 1, "\"", true),
            '\'' => character_or_lifetime(&mut scanner),
            '(' | '[' | '{' => {
                let has_prose = opens_prose(scanner.preceding_code());
                scanner.open(has_prose);
            }
            ')' | ']' | '}' => scanner.close(),
            letter if is_word(letter) => identifier(&mut scanner),
            _ => scanner.take(1, Kind::Code),
        }
    }
    scanner.into_lines()
}

/// Block comments nest in Rust.
fn block_comment(scanner: &mut Scanner) {
    let mut depth = 0_usize;
    while scanner.peek(0).is_some() {
        if scanner.starts_with("/*") {
            depth += 1;
            scanner.take(2, Kind::Prose);
        } else if scanner.starts_with("*/") {
            depth = depth.saturating_sub(1);
            scanner.take(2, Kind::Prose);
            if depth == 0 {
                return;
            }
        } else {
            scanner.take(1, Kind::Prose);
        }
    }
}

fn string(scanner: &mut Scanner, opening: usize, closing: &str, has_escapes: bool) {
    let is_prose = scanner.strings_are_prose() || is_prose_attribute(scanner.preceding_code());
    let kind = if is_prose { Kind::Prose } else { Kind::Neither };
    scanner.take_string(opening, closing, has_escapes, kind);
}

/// An identifier, or the prefix of a raw string: `r"…"`, `br#"…"#`.
fn identifier(scanner: &mut Scanner) {
    let name = scanner.take_identifier();
    if !["r", "br", "cr"].contains(&name.as_str()) {
        return;
    }
    let hashes = (0..).take_while(|ahead| scanner.peek(*ahead) == Some('#')).count();
    if scanner.peek(hashes) == Some('"') {
        string(scanner, hashes + 1, &format!("\"{}", "#".repeat(hashes)), false);
    }
}

fn character_or_lifetime(scanner: &mut Scanner) {
    if scanner.peek(1) == Some('\\') {
        // The character after the backslash may be a quote.
        scanner.take(3, Kind::Neither);
        scanner.take_string(0, "'", false, Kind::Neither);
    } else if scanner.peek(2) == Some('\'') {
        scanner.take(3, Kind::Neither);
    } else {
        scanner.take(1, Kind::Code);
    }
}

/// Returns whether a bracket after this code opens a printing macro or the text of an error.
fn opens_prose(code: &str) -> bool {
    let is_macro = code.strip_suffix('!').is_some_and(|code| PROSE_MACROS.contains(&last_identifier(code)));
    is_macro || code.ends_with("#[error")
}

fn is_prose_attribute(code: &str) -> bool {
    let name = code.strip_suffix('=').map(str::trim_end);
    name.is_some_and(|code| PROSE_ATTRIBUTES.contains(&last_identifier(code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(text: &str) -> Vec<String> {
        let words = |line: Line| line.prose.split_whitespace().collect::<Vec<_>>().join(" ");
        lines(text).into_iter().map(words).filter(|prose| !prose.is_empty()).collect()
    }

    fn code(text: &str) -> String {
        let lines: Vec<String> =
            lines(text).into_iter().map(|line| line.code.trim_end().to_owned()).collect();
        lines.join("\n")
    }

    #[test]
    fn comments_of_every_form_are_prose() {
        let text = "//! one\n/// two\nfn f() {} // three\n/* four /* five */ six */ let g = 1;\n";
        assert_eq!(prose(text), ["//! one", "/// two", "// three", "/* four /* five */ six */"]);
        assert_eq!(code(text).lines().last().map(str::trim), Some("let g = 1;"));
    }

    #[test]
    fn strings_of_printing_macros_are_prose() {
        assert_eq!(prose(r#"tracing::info!(count = f("two"), "three {x}");"#), ["two three {x}"]);
        assert_eq!(prose(r##"println!(r#"one " two"#); f("three");"##), [r#"one " two"#]);
        assert_eq!(prose("bail!(\n    \"one \\\n     two\"\n);"), ["one", "two"]);
    }

    #[test]
    fn help_and_error_texts_are_prose() {
        assert_eq!(prose(r#"#[command(name = "x", about = "one")]"#), ["one"]);
        assert_eq!(prose(r#"#[error("two: {0}")]"#), ["two: {0}"]);
    }

    #[test]
    fn sql_and_other_strings_are_neither() {
        let text = "query!(\"select told -- told\", r#\"// told \"told\" \"#); b\"told\"; x";
        assert_eq!(prose(text), Vec::<String>::new());
        assert!(!code(text).contains("told"), "{}", code(text));
        assert!(code(text).ends_with('x'));
    }

    #[test]
    fn a_quote_may_be_a_character_or_a_lifetime() {
        for text in
            ["('\"', '\\n', b'\"') // one", r"('\'', '\\', '\u{22}') // one", "<'a>(&'a str, \"x\") // one"]
        {
            assert_eq!(prose(text), ["// one"], "{text}");
        }
    }

    #[test]
    fn line_numbers_survive_multi_line_strings() {
        let text = "let x = \"one\n\n two\"; // three";
        let lines = lines(text);
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[2].prose.trim(), "// three");
    }
}
