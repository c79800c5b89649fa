//! Splits a source file into code and prose. Prose is what people read: comments, doc comments, log texts,
//! error texts and `--help`. Other string literals (SQL, JSON, paths, test data) are neither code nor prose.

/// One line of a file. Both texts have the same length: a character that belongs to the other one is a space.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) code: String,
    pub(super) prose: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Code,
    Prose,
    Neither,
}

#[derive(Debug)]
pub(super) struct Scanner {
    letters: Vec<char>,
    position: usize,
    lines: Vec<Line>,
    /// For each open bracket, whether string literals inside it are prose.
    brackets: Vec<bool>,
}

impl Scanner {
    pub(super) fn new(text: &str) -> Self {
        let letters = text.chars().collect();
        Scanner { letters, position: 0, lines: vec![Line::default()], brackets: Vec::new() }
    }

    pub(super) fn into_lines(self) -> Vec<Line> {
        self.lines
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.position + ahead).copied()
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, letter)| self.peek(ahead) == Some(letter))
    }

    /// Moves past the next characters and adds them to the current line.
    pub(super) fn take(&mut self, count: usize, kind: Kind) {
        for _ in 0..count {
            let Some(letter) = self.peek(0) else { return };
            self.position += 1;
            if letter == '\n' {
                self.lines.push(Line::default());
            } else if let Some(line) = self.lines.last_mut() {
                line.code.push(if kind == Kind::Code { letter } else { ' ' });
                line.prose.push(if kind == Kind::Prose { letter } else { ' ' });
            }
        }
    }

    pub(super) fn take_line(&mut self, kind: Kind) {
        while self.peek(0).is_some_and(|letter| letter != '\n') {
            self.take(1, kind);
        }
    }

    pub(super) fn take_identifier(&mut self) -> String {
        let rest = self.letters.iter().skip(self.position);
        let name: String = rest.take_while(|letter| is_word(**letter)).collect();
        self.take(name.chars().count(), Kind::Code);
        name
    }

    /// Takes a string literal whose opening has this length. Escaped characters are neither code nor prose.
    pub(super) fn take_string(&mut self, opening: usize, closing: &str, has_escapes: bool, kind: Kind) {
        self.take(opening, Kind::Neither);
        while self.peek(0).is_some() && !self.starts_with(closing) {
            if has_escapes && self.peek(0) == Some('\\') {
                self.take(2, Kind::Neither);
            } else {
                self.take(1, kind);
            }
        }
        self.take(closing.chars().count(), Kind::Neither);
    }

    /// Takes an opening bracket. String literals inside are prose if `has_prose` is set for it or for an
    /// outer one.
    pub(super) fn open(&mut self, has_prose: bool) {
        let is_prose = has_prose || self.strings_are_prose();
        self.brackets.push(is_prose);
        self.take(1, Kind::Code);
    }

    pub(super) fn close(&mut self) {
        self.brackets.pop();
        self.take(1, Kind::Code);
    }

    pub(super) fn strings_are_prose(&self) -> bool {
        self.brackets.last().copied().unwrap_or(false)
    }

    pub(super) fn is_at_statement(&self) -> bool {
        self.brackets.is_empty() && self.lines.last().is_none_or(|line| line.code.trim().is_empty())
    }

    /// Returns the code before the current position, back to the start of the last line that has any.
    pub(super) fn preceding_code(&self) -> &str {
        let mut codes = self.lines.iter().rev().map(|line| line.code.trim_end());
        codes.find(|code| !code.is_empty()).unwrap_or_default()
    }
}

pub(super) fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Returns the identifier at the end of a piece of code; empty if it ends with something else.
pub(super) fn last_identifier(code: &str) -> &str {
    let start = code.trim_end_matches(is_word).len();
    code.get(start..).unwrap_or_default()
}
