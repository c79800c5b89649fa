//! Values that are hard to mask: quotation marks, white space, letters beyond ASCII, several lines, JSON, PEM. All
//! else in them is random, so that no part of a value occurs anywhere by chance.

/// A secret that is planted.
pub(crate) struct CanarySecret {
    pub(crate) name: String,
    pub(crate) value: String,
}

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

pub(crate) fn make(count: u32) -> Vec<CanarySecret> {
    (0..count).map(|number| CanarySecret { name: format!("canary-{number}"), value: value(number) }).collect()
}

fn value(number: u32) -> String {
    match number % 10 {
        0 => letters(20),
        1 => mixed(&["'", "\"", "''"]),
        2 => mixed(&["\\", "$", "`", "\\n"]),
        3 => format!(" {}\n", mixed(&[" ", "\t"])),
        4 => mixed(&["é", "ß", "€", "🔑"]),
        5 => mixed(&["&", "<", ">", "?", "=", "+", "/", "%"]),
        6 => [letters(24), mixed(&["'", " "]), letters(30)].join("\n"),
        7 => format!("{{\"u\":\"{}\",\"p\":\"{}\"}}", letters(16), mixed(&["\\\"", "/", "\\n"])),
        8 => letters(8),
        _ => {
            let label = letters(12);
            let lines: Vec<String> = (0..5).map(|_| letters(64)).collect();
            format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
        }
    }
}

/// Returns random letters with awkward characters in between.
fn mixed(awkward: &[&str]) -> String {
    awkward.iter().map(|text| format!("{}{text}", letters(6))).collect::<String>() + &letters(6)
}

fn letters(count: usize) -> String {
    let letter = |_| char::from(LETTERS[rand::random_range(0..LETTERS.len())]);
    (0..count).map(letter).collect()
}
