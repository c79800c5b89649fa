//! The template of a line: the line without what differs from run to run. Lines with the same template are equal for
//! the comparison with good runs.

/// Replaces numbers and ids.
const MARK: u8 = b'#';
/// A run of hexadecimal digits of at least this length, with at least one decimal digit, counts as an id.
const MIN_ID_LENGTH: usize = 6;
/// The part of an id after a hyphen, as in UUIDs and in the names of pods.
const MIN_ID_PART_LENGTH: usize = 4;

/// Returns the template of a text. Numbers and ids are `#`, a single `0` stays (`0 errors` is not `3 errors`), letters
/// are lower case, blanks are folded.
pub fn template(text: &str) -> String {
    let mut masked = Vec::with_capacity(text.len());
    mask(text.as_bytes(), &mut masked);
    String::from_utf8_lossy(&masked).into_owned()
}

/// The properties of one token of a line, by which ids and numbers are detected.
struct Token {
    length: usize,
    digits: usize,
    is_hex: bool,
    /// How often letters and digits alternate.
    changes: usize,
}

fn word(bytes: &[u8]) -> Token {
    let mut word = Token { length: 0, digits: 0, is_hex: true, changes: 0 };
    let mut was_digit = false;
    for byte in bytes {
        if byte.is_ascii_digit() {
            word.digits += 1;
            word.changes += usize::from(!was_digit && word.length > 0);
            was_digit = true;
        } else if byte.is_ascii_alphabetic() {
            word.changes += usize::from(was_digit);
            word.is_hex &= byte.is_ascii_hexdigit();
            was_digit = false;
        } else {
            break;
        }
        word.length += 1;
    }
    word
}

/// Writes the template of a line into `out`.
pub(crate) fn mask(line: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut rest = line;
    let mut follows_id = false;
    while let Some(&first) = rest.first() {
        let mut length = 1;
        let mut is_id = false;
        if first.is_ascii_alphanumeric() {
            let word = word(rest);
            length = word.length;
            let text = rest.get(..length).unwrap_or_default();
            let is_digits = word.digits == length;
            is_id = length >= MIN_ID_LENGTH && word.digits > 0 && (word.is_hex || word.changes > 1);
            if is_digits {
                length += more_digits(rest.get(length..).unwrap_or_default());
                out.push(if rest.get(..length) == Some(b"0") { b'0' } else { MARK });
            } else if is_id
                || word.changes > 1
                || text.starts_with(b"0x")
                || (follows_id && length >= MIN_ID_PART_LENGTH)
            {
                out.push(MARK);
                is_id = true;
                if text.last().is_some_and(u8::is_ascii_digit) {
                    length += more_digits(rest.get(length..).unwrap_or_default());
                }
            } else if word.digits == 0 {
                let start = out.len();
                out.extend_from_slice(text);
                if let Some(copy) = out.get_mut(start..) {
                    copy.make_ascii_lowercase();
                }
            } else {
                push_with_digits(text, out);
            }
            // The part after the hyphen belongs to the same id.
            is_id |= follows_id && is_digits;
            if is_id && rest.get(length) == Some(&b'-') {
                out.push(b'-');
                length += 1;
            } else {
                is_id = false;
            }
        } else if first.is_ascii_whitespace() || first == 0 {
            if out.last().is_some_and(|last| *last != b' ') {
                out.push(b' ');
            }
        } else {
            out.push(first);
            if first == b'/' && out.ends_with(b"/tmp/") {
                length += temporary_name(rest.get(1..).unwrap_or_default());
                out.push(MARK);
            }
        }
        follows_id = is_id;
        rest = rest.get(length..).unwrap_or_default();
    }
    if out.last() == Some(&b' ') {
        out.pop();
    }
}

/// Returns how many bytes continue a number: times, addresses, versions and fractions are one number.
fn more_digits(bytes: &[u8]) -> usize {
    let mut length = 0;
    while let (Some(b'.' | b',' | b':'), Some(b'0'..=b'9')) = (bytes.get(length), bytes.get(length + 1)) {
        length += 1;
        length += bytes.iter().skip(length).take_while(|byte| byte.is_ascii_digit()).count();
    }
    length
}

/// Returns the length of the name of a file in a temporary folder.
fn temporary_name(bytes: &[u8]) -> usize {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    bytes.iter().take_while(|byte| is_name(byte)).count()
}

/// Appends a token to the template, with a placeholder for each number in it.
fn push_with_digits(word: &[u8], out: &mut Vec<u8>) {
    let mut was_digit = false;
    for byte in word {
        let is_digit = byte.is_ascii_digit();
        if !is_digit {
            out.push(byte.to_ascii_lowercase());
        } else if !was_digit {
            out.push(MARK);
        }
        was_digit = is_digit;
    }
}

/// Returns the hash of a template. It is stored in sets of templates, so it never changes without their version.
pub(crate) fn hash(masked: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = masked.len() as u64 ^ 0xcbf2_9ce4_8422_2325;
    let (words, rest) = masked.as_chunks::<8>();
    for word in words {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR).rotate_left(29);
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(FACTOR);
    hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_masked() {
        for (text, expected) in [
            ("2026-11-17T23:02:02.123Z INFO  worker 7\tdone", "#-#-#z info worker # done"),
            ("commit 3f2c91e of 1234567", "commit # of #"),
            ("id 550e8400-e29b-41d4-a716-446655440000 ok", "id #-#-#-#-# ok"),
            ("id f47ac10b-58cc-4372-dead-0e02b2c3d479 ok", "id #-#-#-#-# ok"),
            ("pod app-7d9f8b6c5d-x2x4z ready", "pod app-#-# ready"),
            ("pod app-68bd9f7c44-qwert ready", "pod app-#-# ready"),
            ("at 0x7ffe12ab, 0xff", "at #, #"),
            ("in /tmp/tmp.QwErTy/x and /tmp/abc", "in /tmp/#/x and /tmp/#"),
            ("0 errors", "0 errors"),
            ("3 errors", "# errors"),
            ("10.0.0.1:5432 took 0.5s", "# took #s"),
            ("error[E0308]: decade utf8", "error[e#]: decade utf#"),
            ("  a \u{e4}  ", "a \u{e4}"),
            ("took 99999 us, 100000 us", "took # us, # us"),
        ] {
            assert_eq!(template(text), expected, "{text}");
        }
    }

    #[test]
    fn hashes_do_not_change() {
        let of = |text: &str| hash(template(text).as_bytes());
        assert_eq!(of(""), 6_781_553_966_295_243_104);
        assert_ne!(of("abcdefgh"), of("abcdefgh\u{1}"));
    }
}
