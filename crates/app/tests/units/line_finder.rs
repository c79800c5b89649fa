//! Finding the lines of a log.

use greenroom_app::log::line_finder::LineFinder;

fn search(log: &[u8], part: usize, text: &str, ignores_case: bool, limit: usize) -> LineFinder {
    let mut finder = LineFinder::new(text, ignores_case, 0, limit);
    let parts = log.chunks(part).collect::<Vec<_>>();
    for (number, bytes) in parts.iter().enumerate() {
        finder.push(bytes, number + 1 == parts.len());
    }
    finder
}

/// Returns newlines and offset of each line that contains the text, found in the plainest way.
fn expected(log: &[u8], text: &str, ignores_case: bool) -> Vec<(u64, u64)> {
    let fold = |bytes: &[u8]| if ignores_case { bytes.to_ascii_lowercase() } else { bytes.to_vec() };
    let (text, mut offset, mut found) = (fold(text.as_bytes()), 0, Vec::new());
    for (number, line) in log.split(|byte| *byte == b'\n').enumerate() {
        let line = fold(line);
        if let Some(index) = line.windows(text.len()).position(|window| window == text) {
            found.push((number as u64, (offset + index) as u64));
        }
        offset += line.len() + 1;
    }
    found
}

#[test]
fn every_matching_line_is_found_once_whatever_the_parts() {
    let mut seed = 7_u32;
    let mut random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as usize
    };
    for alphabet in [&b"ab\n"[..], &b"aAbB\n\0\xff"[..], &b"abcdefgh"[..]] {
        let log: Vec<u8> = (0..3_000).map(|_| alphabet[random() % alphabet.len()]).collect();
        let texts = [("a", false), ("abab", false), ("AB", true), ("bA", false), ("zz", true)];
        for (text, ignores_case) in texts {
            let expected = expected(&log, text, ignores_case);
            for part in [1, 2, 63, 64, 65, 191, 500, log.len()] {
                let finder = search(&log, part, text, ignores_case, usize::MAX);
                assert_eq!((finder.total(), finder.searched_to()), (expected.len() as u64, 3_000));
                let found: Vec<(u64, u64)> =
                    finder.into_found().iter().map(|line| (line.newlines, line.offset)).collect();
                assert_eq!(found, expected, "{text:?} in parts of {part} bytes");
            }
        }
    }
}

#[test]
fn an_excerpt_is_the_line_or_a_part_of_it_with_whole_characters() {
    let long = "ä".repeat(1_000);
    let log = format!("first\nthe second line\r\n{long}needle{long}\nlast needle");
    for part in [1, 100, log.len()] {
        let found = search(log.as_bytes(), part, "second", false, 10).into_found();
        assert_eq!(found[0].excerpt, "the second line\r");
        let found = search(log.as_bytes(), part, "needle", false, 10).into_found();
        assert_eq!(found[0].excerpt, format!("{}needle{}", "ä".repeat(32), "ä".repeat(93)));
        assert_eq!(found[1].excerpt, "last needle");
    }
    let found = search(b"\x80\x80\x80\x80\x80 x \xff\xfe\0", 100, "x", false, 1).into_found();
    assert_eq!(found[0].excerpt, "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd} x \u{fffd}\u{fffd}\0");
}

#[test]
fn what_exceeds_the_limit_is_counted_and_found_from_where_it_begins() {
    let log = b"no\na yes\n".repeat(30_000);
    let finder = search(&log, 1_000, "yes", false, 3);
    assert_eq!((finder.total(), finder.is_full()), (10_000, true));
    // The fourth line with the text.
    assert_eq!(finder.first_omitted(), Some(3 * 9 + 3));
    assert!(finder.searched_to() <= 10_000 * 9);
    assert_eq!(finder.into_found().len(), 3);
}

/// One line of many matches costs no more memory and is found once.
#[test]
fn a_huge_line_is_found_once_and_not_kept() {
    let mut finder = LineFinder::new("aa", true, 0, 10);
    for _ in 0..100 {
        finder.push(&vec![b'A'; 100_000], false);
        assert!(finder.kept_bytes() <= 1_000);
    }
    finder.push(b"\naa", true);
    let found = finder.into_found();
    assert_eq!(found.iter().map(|line| line.newlines).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(found[1].offset, 10_000_001);
}
