//! The forms in which a secret can appear in a log: its parts, and each of them in the encodings that programs
//! apply by accident. Masking does not stop a step that wants to print a secret: it can always encode it in
//! another way.

use base64::Engine;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::Value;

/// Shorter values and forms are not masked.
pub(super) const MIN_BYTES: usize = 6;
/// The line lengths of `base64` and of PEM files.
const BASE64_WIDTHS: [usize; 2] = [76, 64];

type Encoding = fn(&[u8]) -> Vec<Vec<u8>>;

/// The encodings, the most likely ones first. Several variants of one encoding are equal for most values.
pub(super) const ENCODINGS: [Encoding; 11] = [
    unchanged,
    base64,
    wrapped_base64,
    json,
    shell_quoted,
    xml,
    c_escaped,
    percent_encoded,
    hexadecimal,
    reversed,
    base64_of_base64,
];

/// Returns the parts of a value that are secret by themselves: the value without white space around it, its
/// lines, and if it is JSON its strings and their lines.
pub(super) fn parts(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    add_text(secret, &mut parts);
    if let Ok(value) = serde_json::from_slice(secret) {
        add_strings(&value, &mut parts);
    }
    parts.sort();
    parts.dedup();
    parts
}

fn add_text(text: &[u8], parts: &mut Vec<Vec<u8>>) {
    let trimmed = text.trim_ascii();
    // A form without the white space is also found with it.
    parts.push(if trimmed.len() < MIN_BYTES { text } else { trimmed }.to_vec());
    let lines = trimmed.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii);
    parts.extend(lines.filter(|line| line.len() >= MIN_BYTES).map(<[u8]>::to_vec));
}

fn add_strings(value: &Value, parts: &mut Vec<Vec<u8>>) {
    match value {
        Value::String(text) if text.len() >= MIN_BYTES => add_text(text.as_bytes(), parts),
        Value::Array(values) => values.iter().for_each(|value| add_strings(value, parts)),
        Value::Object(fields) => fields.values().for_each(|value| add_strings(value, parts)),
        _ => {}
    }
}

fn unchanged(part: &[u8]) -> Vec<Vec<u8>> {
    vec![part.to_vec()]
}

/// Returns the letters of a part within a longer encoded text. They depend on the number of bytes before it,
/// modulo three. Letters at both ends that also contain bits of neighboring bytes are left out.
fn base64_letters(engine: &GeneralPurpose, part: &[u8]) -> Vec<Vec<u8>> {
    let aligned = |before: usize| {
        let mut padded = vec![0; before];
        padded.extend_from_slice(part);
        let skip = (before * 8).div_ceil(6);
        let keep = padded.len() * 8 / 6;
        engine.encode(&padded).into_bytes()[skip..keep].to_vec()
    };
    (0..3).map(aligned).collect()
}

const ALPHABETS: [&GeneralPurpose; 2] = [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD];

fn base64(part: &[u8]) -> Vec<Vec<u8>> {
    ALPHABETS.into_iter().flat_map(|alphabet| base64_letters(alphabet, part)).collect()
}

/// Returns the lines of a part that was encoded alone, with padding. A line feed within the letters hides the
/// part from the other forms.
fn wrapped_base64(part: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for letters in [STANDARD.encode(part), URL_SAFE.encode(part)] {
        for width in BASE64_WIDTHS {
            forms.extend(letters.as_bytes().chunks(width).map(<[u8]>::to_vec));
        }
    }
    forms
}

fn base64_of_base64(part: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for alphabet in ALPHABETS {
        let inner = base64_letters(alphabet, part);
        // Letters of base64 have the same form in both alphabets.
        forms.extend(inner.iter().flat_map(|letters| base64_letters(&STANDARD_NO_PAD, letters)));
    }
    // What `base64 | base64` prints for a part alone.
    let mut inner = Vec::new();
    for line in STANDARD.encode(part).as_bytes().chunks(BASE64_WIDTHS[0]) {
        inner.extend_from_slice(line);
        inner.push(b'\n');
    }
    forms.extend(wrapped_base64(&inner));
    forms
}

/// Strings in JSON, without the quotation marks: as short as possible, as Python, Go and PHP write them.
fn json(part: &[u8]) -> Vec<Vec<u8>> {
    let Ok(text) = std::str::from_utf8(part) else { return Vec::new() };
    let variants: [fn(char) -> bool; 4] = [
        |_| false,
        |letter| !letter.is_ascii() || letter == '\u{7f}',
        |letter| matches!(letter, '<' | '>' | '&' | '\u{2028}' | '\u{2029}'),
        |letter| !letter.is_ascii() || letter == '/',
    ];
    let escaped = |is_escaped: fn(char) -> bool| {
        let mut form = String::new();
        for letter in text.chars() {
            match letter {
                '"' => form.push_str("\\\""),
                '\\' => form.push_str("\\\\"),
                '\n' => form.push_str("\\n"),
                '\r' => form.push_str("\\r"),
                '\t' => form.push_str("\\t"),
                '\u{8}' => form.push_str("\\b"),
                '\u{c}' => form.push_str("\\f"),
                '/' if is_escaped('/') => form.push_str("\\/"),
                _ if letter < ' ' || is_escaped(letter) => {
                    let mut units = [0; 2];
                    form.extend(letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
                }
                _ => form.push(letter),
            }
        }
        form.into_bytes()
    };
    variants.map(escaped).to_vec()
}

/// Quoted for a shell, without the outer quotation marks: as bash and most programs do it, and as dash and
/// Python do.
fn shell_quoted(part: &[u8]) -> Vec<Vec<u8>> {
    let quote = |with: &'static str| replace(part, |byte| (byte == b'\'').then(|| with.to_owned()));
    vec![quote("'\\''"), quote("'\"'\"'")]
}

/// Text and attributes of XML and HTML.
fn xml(part: &[u8]) -> Vec<Vec<u8>> {
    let quotes = [
        ("\"", "'"),
        ("&quot;", "'"),
        ("&quot;", "&apos;"),
        ("&quot;", "&#39;"),
        ("&quot;", "&#x27;"),
        ("&#34;", "&#39;"),
    ];
    let escaped = |(double, single): (&str, &str)| {
        replace(part, |byte| match byte {
            b'&' => Some("&amp;".to_owned()),
            b'<' => Some("&lt;".to_owned()),
            b'>' => Some("&gt;".to_owned()),
            b'"' => Some(double.to_owned()),
            b'\'' => Some(single.to_owned()),
            _ => None,
        })
    };
    quotes.map(escaped).to_vec()
}

/// Literals of C and similar languages, without the quotation marks.
fn c_escaped(part: &[u8]) -> Vec<Vec<u8>> {
    let numbers: [fn(u8) -> String; 2] = [|byte| format!("\\x{byte:02x}"), |byte| format!("\\{byte:03o}")];
    let mut forms = Vec::new();
    for quotes in ["", "\"", "'", "\"'"] {
        for number in numbers {
            for keeps_letters_beyond_ascii in [false, true] {
                forms.push(replace(part, |byte| match byte {
                    b'\n' => Some("\\n".to_owned()),
                    b'\r' => Some("\\r".to_owned()),
                    b'\t' => Some("\\t".to_owned()),
                    b'\\' => Some("\\\\".to_owned()),
                    b'"' | b'\'' => {
                        quotes.as_bytes().contains(&byte).then(|| format!("\\{}", char::from(byte)))
                    }
                    b' '..=b'~' => None,
                    128.. if keeps_letters_beyond_ascii => None,
                    _ => Some(number(byte)),
                }));
            }
        }
    }
    forms
}

/// Addresses and forms: as RFC 3986 requires, with slashes, as JavaScript does it, and with `+` for a space.
fn percent_encoded(part: &[u8]) -> Vec<Vec<u8>> {
    let variants = [("-._~", false), ("-._~/", false), ("-._~!*'()", false), ("-._*", true), ("-._~", true)];
    let mut forms = Vec::new();
    for (kept, has_plus) in variants {
        for is_upper in [true, false] {
            forms.push(replace(part, |byte| match byte {
                b' ' if has_plus => Some("+".to_owned()),
                _ if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) => None,
                _ if is_upper => Some(format!("%{byte:02X}")),
                _ => Some(format!("%{byte:02x}")),
            }));
        }
    }
    forms
}

fn hexadecimal(part: &[u8]) -> Vec<Vec<u8>> {
    let digits: String = part.iter().map(|byte| format!("{byte:02x}")).collect();
    vec![digits.to_ascii_uppercase().into_bytes(), digits.into_bytes()]
}

/// The bytes in reverse, and the letters.
fn reversed(part: &[u8]) -> Vec<Vec<u8>> {
    let bytes: Vec<u8> = part.iter().rev().copied().collect();
    let letters = std::str::from_utf8(part).map(|text| text.chars().rev().collect::<String>().into_bytes());
    [bytes].into_iter().chain(letters).collect()
}

/// Replaces some bytes.
fn replace(part: &[u8], with: impl Fn(u8) -> Option<String>) -> Vec<u8> {
    let mut form = Vec::with_capacity(part.len());
    for &byte in part {
        match with(byte) {
            Some(text) => form.extend_from_slice(text.as_bytes()),
            None => form.push(byte),
        }
    }
    form
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::log::{SecretPatterns, mask};

    /// Contains a letter of every kind that some encoding escapes.
    const AWKWARD: &str = "pa ss'w\"ö/r\\d<&>=+%~\t!";

    fn masked(secret: &str, text: &str) -> String {
        let patterns = SecretPatterns::new([("secret", secret.as_bytes())]).unwrap();
        mask(&Arc::new(patterns), text)
    }

    #[test]
    fn the_forms_of_an_awkward_secret_are_masked() {
        for form in [
            AWKWARD,
            // JSON: as short as possible, Python, Go, PHP.
            r#"pa ss'w\"ö/r\\d<&>=+%~\t!"#,
            r#"pa ss'w\"\u00f6/r\\d<&>=+%~\t!"#,
            r#"pa ss'w\"ö/r\\d\u003c\u0026\u003e=+%~\t!"#,
            r#"pa ss'w\"\u00f6\/r\\d<&>=+%~\t!"#,
            // XML and HTML.
            "pa ss'w\"ö/r\\d&lt;&amp;&gt;=+%~\t!",
            "pa ss&apos;w&quot;ö/r\\d&lt;&amp;&gt;=+%~\t!",
            "pa ss&#39;w&#34;ö/r\\d&lt;&amp;&gt;=+%~\t!",
            "pa ss&#x27;w&quot;ö/r\\d&lt;&amp;&gt;=+%~\t!",
            // Shells.
            r"pa ss'\''w",
            // C, `$'…'` of bash, Python.
            r#"pa ss\'w\"\xc3\xb6/r\\d<&>=+%~\t!"#,
            r#"pa ss\'w"\303\266/r\\d<&>=+%~\t!"#,
            r#"pa ss\'w"ö/r\\d<&>=+%~\t!"#,
            // Addresses and forms.
            "pa%20ss%27w%22%C3%B6%2Fr%5Cd%3C%26%3E%3D%2B%25~%09%21",
            "pa%20ss%27w%22%c3%b6/r%5cd%3c%26%3e%3d%2b%25~%09%21",
            "pa%20ss'w%22%C3%B6%2Fr%5Cd%3C%26%3E%3D%2B%25~%09!",
            "pa+ss%27w%22%C3%B6%2Fr%5Cd%3C%26%3E%3D%2B%25%7E%09%21",
            // Hexadecimal.
            "7061207373277722c3b62f725c643c263e3d2b257e0921",
            "7061207373277722C3B62F725C643C263E3D2B257E0921",
            // Reversed by letters.
            "!\t~%+=>&<d\\r/ö\"w'ss ap",
        ] {
            let secret = if form == r"pa ss'\''w" { "pa ss'w" } else { AWKWARD };
            assert_eq!(masked(secret, &format!("-{form}-")), "-***-", "{form}");
        }
        assert_eq!(masked("it's me", r#"it'"'"'s me"#), "***");
    }

    #[test]
    fn base64_is_masked_at_every_position_in_both_alphabets() {
        let secret = "correct horse? battery~~";
        for before in 0..7 {
            for after in 0..4 {
                let text = ["<".repeat(before), secret.to_owned(), ">".repeat(after)].concat();
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    let out = masked(secret, &encoded);
                    // Only the letters of the neighboring bytes are left, and those shared with them.
                    assert!(out.len() - 3 <= (before + after) * 8 / 6 + 6, "{out} of {encoded}");
                    assert!(out.contains("***"), "{encoded}");
                    // The letters at both ends of the inner encoding are shared as well.
                    let twice = STANDARD.encode(&encoded);
                    let out = masked(secret, &twice);
                    assert!(out.contains("***") && out.len() < twice.len() / 2 + 16, "{out} of {twice}");
                }
            }
        }
    }

    #[test]
    fn the_lines_of_base64_are_masked() {
        let secret: String = (0..300).map(|number| char::from(b'!' + (number * 7 % 90) as u8)).collect();
        let wrap = |text: &str, width| {
            text.as_bytes()
                .chunks(width)
                .map(|line| String::from_utf8_lossy(line))
                .collect::<Vec<_>>()
                .join("\n")
        };
        for width in [64, 76] {
            let out = masked(&secret, &wrap(&STANDARD.encode(&secret), width));
            assert!(out.lines().all(|line| line == "***"), "{out}");
        }
        let inner = wrap(&STANDARD.encode(&secret), 76) + "\n";
        let out = masked(&secret, &wrap(&STANDARD.encode(inner), 76));
        assert!(out.lines().all(|line| line == "***"), "{out}");
    }

    #[test]
    fn each_line_of_a_secret_is_masked() {
        let key = "-----BEGIN KEY-----\r\n  AAAABBBBCCCC\nDDDD\n-----END KEY-----\n";
        assert_eq!(masked(key, key), "***\n");
        assert_eq!(masked(key, "x AAAABBBBCCCC y"), "x *** y");
        assert_eq!(masked(key, "DDDD"), "DDDD");
        assert_eq!(masked("  hunter22\n", "hunter22\nnext"), "***\nnext");
        assert_eq!(masked(" ab   ", "x ab   y"), "x***y");
    }

    #[test]
    fn the_strings_of_json_are_masked() {
        let account = r#"{"type": "user", "port": 123456, "keys": [{"private": "line one\nline two\n", "a": "ä\"bcdef"}]}"#;
        for text in ["line one", "line two", "ä\"bcdef", r#"ä\"bcdef"#] {
            assert_eq!(masked(account, &format!("-{text}-")), "-***-", "{text}");
        }
        for text in ["user", "123456", "private"] {
            assert_eq!(masked(account, text), text);
        }
        assert_eq!(masked(account, &STANDARD.encode("line two")), "***");
    }

    #[test]
    fn a_value_that_is_not_utf8_is_masked() {
        let secret = [0xff, 0, 1, 2, 0xfe, b'a', b'b'];
        let patterns = Arc::new(SecretPatterns::new([("binary", secret.as_slice())]).unwrap());
        for form in ["ff000102fe6162", "FF000102FE6162", "%FF%00%01%02%FEab", r"\xff\x00\x01\x02\xfeab"] {
            assert_eq!(mask(&patterns, form), "***", "{form}");
        }
    }
}
