//! Code and prose of Python files and shell scripts.

use super::scanner::{Kind, Line, Scanner, is_word, last_identifier};

/// Functions of our scripts whose string arguments are printed.
const PROSE_FUNCTIONS: &[&str] =
    &["print", "print_progress", "warn", "exit", "error", "StackError", "DocumentError"];

pub(super) fn python_lines(text: &str) -> Vec<Line> {
    let mut scanner = Scanner::new(text);
    while let Some(letter) = scanner.peek(0) {
        match letter {
            '#' => scanner.take_line(Kind::Prose),
            '"' | '\'' => python_string(&mut scanner, letter),
            '(' | '[' | '{' => {
                let has_prose = PROSE_FUNCTIONS.contains(&last_identifier(scanner.preceding_code()));
                scanner.open(has_prose);
            }
            ')' | ']' | '}' => scanner.close(),
            letter if is_word(letter) => drop(scanner.take_identifier()),
            _ => scanner.take(1, Kind::Code),
        }
    }
    scanner.into_lines()
}

/// A string that is a statement is a docstring.
fn python_string(scanner: &mut Scanner, quote: char) {
    let tripled = quote.to_string().repeat(3);
    let closing = if scanner.starts_with(&tripled) { tripled } else { quote.to_string() };
    let is_help = scanner.preceding_code().ends_with("help=");
    let is_prose = scanner.is_at_statement() || scanner.strings_are_prose() || is_help;
    let kind = if is_prose { Kind::Prose } else { Kind::Neither };
    scanner.take_string(closing.chars().count(), &closing, true, kind);
}

/// Only whole lines count as comments: elsewhere `#` has too many meanings in a shell.
pub(super) fn shell_lines(text: &str) -> Vec<Line> {
    let mut scanner = Scanner::new(text);
    for line in text.lines() {
        let is_comment = line.trim_start().starts_with('#');
        scanner.take_line(if is_comment { Kind::Prose } else { Kind::Code });
        scanner.take(1, Kind::Neither);
    }
    scanner.into_lines()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(lines: Vec<Line>) -> Vec<String> {
        let lines = lines.into_iter().map(|line| line.prose.trim().to_owned());
        lines.filter(|prose| !prose.is_empty()).collect()
    }

    #[test]
    fn comments_and_docstrings_are_prose() {
        let text = "\"\"\"one\ntwo\"\"\"\nX = \"no\"  # three\n\n\ndef f():\n    '''four'''\n";
        assert_eq!(prose(python_lines(text)), ["one", "two", "# three", "four"]);
        assert_eq!(prose(python_lines("return \"no # no\"")), Vec::<String>::new());
    }

    #[test]
    fn printed_texts_and_help_are_prose() {
        assert_eq!(prose(python_lines("print(f\"one {x['y']}\")")), ["one {x['y']}"]);
        assert_eq!(prose(python_lines("p.add_argument(\"--no\", help=\"two\")")), ["two"]);
        assert_eq!(prose(python_lines("run([\"no\"], \"\"\"no\"\"\")")), Vec::<String>::new());
    }

    #[test]
    fn an_escaped_quote_does_not_end_a_string() {
        assert_eq!(prose(python_lines("x = 'it\\'s # no'  # one")), ["# one"]);
        assert_eq!(prose(python_lines("x = ''  # one")), ["# one"]);
    }

    #[test]
    fn whole_lines_are_comments_of_a_shell_script() {
        let lines = shell_lines("# one\necho ${#x} # no\n  # two\n");
        assert!(lines.iter().any(|line| line.code.starts_with("echo")));
        assert_eq!(prose(lines), ["# one", "# two"]);
    }
}
