//! The forms in which steps print a secret. This is an implementation of its own: it shares nothing with the masker.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::Value;

/// A form of a secret: what a step prints, and the part of it that is secret.
pub(crate) struct Form {
    pub(crate) name: &'static str,
    pub(crate) printed: Vec<u8>,
    pub(crate) secret: Vec<u8>,
}

/// The number of forms of each secret.
pub(crate) const COUNT: usize = 16;

/// Returns the forms of a value. `variant` chooses among those of one kind, such as the lines of a value.
pub(crate) fn forms(value: &str, variant: usize) -> [Form; COUNT] {
    let trimmed = value.trim();
    let whole = trimmed.as_bytes();
    let lines: Vec<&str> = trimmed.lines().map(str::trim).filter(|line| line.len() >= 6).collect();
    let line = lines.get(variant % lines.len().max(1)).copied().unwrap_or(trimmed);
    let leaves = leaves(trimmed);
    let leaf = leaves.get(variant % leaves.len().max(1)).map_or(trimmed, String::as_str);
    [
        plain("raw", value.as_bytes().trim_ascii().to_vec()),
        plain("line", line.as_bytes().to_vec()),
        plain("jsonLeaf", leaf.as_bytes().to_vec()),
        base64("base64", whole, 0),
        base64("base64Within", whole, variant % 3),
        trimmed_form("base64Url", URL_SAFE.encode(whole), 0, 2),
        trimmed_form("base64Twice", STANDARD.encode(STANDARD.encode(whole)), 0, 8),
        plain("hexadecimal", hexadecimal(whole, false)),
        plain("hexadecimalUpper", hexadecimal(whole, true)),
        plain("percent", replace(trimmed, |letter| percent(letter, "-._~", false))),
        plain("percentPlus", replace(trimmed, |letter| percent(letter, "-._*", true))),
        plain("json", json(trimmed)),
        plain("xml", replace(trimmed, xml)),
        plain("shell", replace(trimmed, |letter| (letter == '\'').then(|| "'\\''".to_owned()))),
        plain("c", replace(trimmed, c_escaped)),
        plain("reversed", trimmed.chars().rev().collect::<String>().into_bytes()),
    ]
}

fn plain(name: &'static str, printed: Vec<u8>) -> Form {
    Form { name, secret: printed.clone(), printed }
}

/// A form whose ends also contain bits of what is around the secret, or of its padding.
fn trimmed_form(name: &'static str, printed: String, begin: usize, end: usize) -> Form {
    let printed = printed.into_bytes();
    let secret = printed.get(begin..printed.len().saturating_sub(end)).unwrap_or_default().to_vec();
    Form { name, printed, secret }
}

/// The secret within a longer text, of which `before` bytes come first.
fn base64(name: &'static str, whole: &[u8], before: usize) -> Form {
    let text = [&b"us"[..before], whole, b":"].concat();
    trimmed_form(name, STANDARD.encode(text), (before * 8).div_ceil(6), 5)
}

fn hexadecimal(whole: &[u8], is_upper: bool) -> Vec<u8> {
    let digit = |byte: &u8| if is_upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
    whole.iter().map(digit).collect::<String>().into_bytes()
}

fn replace(text: &str, with: impl Fn(char) -> Option<String>) -> Vec<u8> {
    text.chars()
        .map(|letter| with(letter).unwrap_or_else(|| letter.to_string()))
        .collect::<String>()
        .into_bytes()
}

/// Upper case without `+`, lower case with it.
fn percent(letter: char, kept: &str, has_plus: bool) -> Option<String> {
    if letter.is_ascii_alphanumeric() || kept.contains(letter) {
        return None;
    }
    if has_plus && letter == ' ' {
        return Some("+".to_owned());
    }
    let mut bytes = [0; 4];
    let bytes = letter.encode_utf8(&mut bytes).bytes();
    Some(bytes.map(|byte| if has_plus { format!("%{byte:02x}") } else { format!("%{byte:02X}") }).collect())
}

fn json(text: &str) -> Vec<u8> {
    let quoted = Value::String(text.to_owned()).to_string();
    quoted.trim_start_matches('"').as_bytes()[..quoted.len() - 2].to_vec()
}

fn xml(letter: char) -> Option<String> {
    let entity = match letter {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '"' => "&quot;",
        '\'' => "&#39;",
        _ => return None,
    };
    Some(entity.to_owned())
}

fn c_escaped(letter: char) -> Option<String> {
    match letter {
        '\n' => Some("\\n".to_owned()),
        '\t' => Some("\\t".to_owned()),
        '\\' => Some("\\\\".to_owned()),
        '"' => Some("\\\"".to_owned()),
        ' '..='~' => None,
        _ => {
            let mut bytes = [0; 4];
            Some(letter.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\x{byte:02x}")).collect())
        }
    }
}

/// Returns the texts in a JSON value.
fn leaves(text: &str) -> Vec<String> {
    let Ok(Value::Object(fields)) = serde_json::from_str(text) else { return Vec::new() };
    fields.values().filter_map(|value| value.as_str()).map(|text| text.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_its_forms() {
        let forms = forms("a'b\"c é\n", 1);
        let printed = |name: &str| {
            let form = forms.iter().find(|form| form.name == name).unwrap();
            String::from_utf8(form.printed.clone()).unwrap()
        };
        assert_eq!(printed("raw"), "a'b\"c é");
        assert_eq!(printed("base64Within"), STANDARD.encode("ua'b\"c é:"));
        assert_eq!(printed("hexadecimal"), "6127622263 20c3a9".replace(' ', ""));
        assert_eq!(printed("percent"), "a%27b%22c%20%C3%A9");
        assert_eq!(printed("percentPlus"), "a%27b%22c+%c3%a9");
        assert_eq!(printed("json"), "a'b\\\"c é");
        assert_eq!(printed("xml"), "a&#39;b&quot;c é");
        assert_eq!(printed("shell"), "a'\\''b\"c é");
        assert_eq!(printed("c"), "a'b\\\"c \\xc3\\xa9");
        assert_eq!(printed("reversed"), "é c\"b'a");
    }
}
