//! Whatever a log contains, and wherever its pieces are cut: every range of an item holds the text that is shown.
//! `ANALYSIS_LOGS` is the number of generated logs.

use greenroom_analysis::reduce::{Budget, Reducer, Reduction, shown_text};
use greenroom_domain::log_lines::{LineCount, count_newlines};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::Config;

const DEFAULT_LOGS: u32 = 2_000;

const FRAGMENTS: &[&[u8]] = &[
    b"\n",
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"\r\r",
    b"\0",
    b"\xff\xfe",
    b"\xc3",
    "ä€😀".as_bytes(),
    b"\x1b[31m",
    b"\x1b[0m",
    b"\x1b]0;title\x07",
    b"\x1b",
    b"\x1b[",
    b" ",
    b"\t",
    b"error: disk 7 failed\n",
    b"ERROR worker 3f2c91e\n",
    b"ok 12\n",
    b"warning: slow",
    b"done in 3 s\n",
    b"Traceback (most recent call last):\n",
    b"  File \"a.py\", line 3, in f\n",
    b"KeyError: 'port'\n",
    b"Caused by:\n",
    b"  0: cause\n",
    b"\tat a.b.C(D.java:3)\n",
    b"thread 'x' panicked at a.rs:1:2:\n",
    b"--- a\n+++ b\n@@ -1 +1 @@\n",
    b"-x\n+y\n",
    b"a.js:3\n  x\n  ^\n\n",
    b"--- FAIL: T\n",
    b"make: *** [all] Error 1\n",
    b"FAIL: test_a\n-----\n",
    b"0 errors\n",
    b"        ^~~~\n",
    b"x\n",
];

fn fragment() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        12 => select(FRAGMENTS).prop_map(<[u8]>::to_vec),
        2 => vec(any::<u8>(), 0..12),
        1 => (select(FRAGMENTS), 1_usize..400).prop_map(|(bytes, count)| bytes.repeat(count)),
        1 => (any::<u8>(), 480_usize..9_000).prop_map(|(byte, count)| vec![byte; count]),
    ]
}

fn log() -> impl Strategy<Value = Vec<u8>> {
    vec(fragment(), 0..24).prop_map(|fragments| fragments.concat())
}

fn reduce<'a>(good: &[u8], pieces: impl Iterator<Item = &'a [u8]>, budget: Budget) -> Reduction {
    let mut baseline = Reducer::new(&[]);
    baseline.push(good);
    let baselines = if good.is_empty() { vec![] } else { vec![baseline.templates()] };
    let mut reducer = Reducer::new(&baselines);
    pieces.for_each(|piece| reducer.push(piece));
    reducer.finish(budget)
}

fn check(log: &[u8], reduction: &Reduction, budget: Budget) {
    let mut count = LineCount::default();
    count.append(log);
    assert_eq!((reduction.size.lines, reduction.size.bytes), (count.lines(), log.len() as u64));
    let mut ranges = Vec::new();
    let mut lines = 0;
    for item in &reduction.items {
        let range = item.from_byte as usize..item.to_byte as usize;
        let shown: Vec<String> = log[range.clone()].split(|byte| *byte == b'\n').map(shown_text).collect();
        assert_eq!(shown.join("\n"), item.text);
        assert_eq!(item.from_line, count_newlines(&log[..range.start]) + 1);
        assert_eq!(item.to_line, count_newlines(&log[..range.end]) + 1);
        assert!(range.start == 0 || log[range.start - 1] == b'\n', "begins with a line");
        assert!(range.end == log.len() || log[range.end] == b'\n', "ends with a line");
        assert!(!item.text.contains('\0') && item.repeats > 0);
        lines += item.to_line - item.from_line + 1;
        ranges.push((range.start, range.end));
    }
    assert!(lines <= budget.lines as u64);
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "no line is shown twice");
    if let Some(decisive) = &reduction.decisive {
        let item = &reduction.items[decisive.item];
        let line = item.text.split('\n').nth((decisive.line - item.from_line) as usize);
        assert_eq!(line, Some(decisive.text.as_str()));
    } else {
        assert!(log.split(|byte| *byte == b'\n').all(|line| shown_text(line).trim_ascii().is_empty()));
    }
    let new: u64 = reduction.size.new_lines;
    assert!(reduction.omitted_lines + reduction.folded_lines <= new && new <= reduction.size.lines);
}

fn config() -> Config {
    let cases =
        std::env::var("ANALYSIS_LOGS").ok().and_then(|logs| logs.parse().ok()).unwrap_or(DEFAULT_LOGS);
    Config { cases, failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_range_holds_the_text_shown(log in log(), good in log(), piece in 1_usize..700, lines in 1_usize..60) {
        let budget = Budget { lines, ..Budget::STORED };
        let whole = reduce(&good, [log.as_slice()].into_iter(), budget);
        check(&log, &whole, budget);
        prop_assert_eq!(&whole, &reduce(&good, log.chunks(piece), budget));
        if log.len() < 100 {
            for cut in 0..=log.len() {
                let pieces = [&log[..cut], &log[cut..]];
                prop_assert_eq!(&whole, &reduce(&good, pieces.into_iter(), budget), "cut at {}", cut);
            }
        }
    }
}

#[test]
fn lines_of_ten_megabytes_are_read_without_keeping_them() {
    let mut log = vec![b'a'; 10 << 20];
    log.extend(b"\nerror: disk full\n");
    log.extend(vec![b'b'; 5 << 20]);
    log.extend(b"\rerror: last\r\n");
    log.extend("ä".repeat(5 << 20).as_bytes());
    for budget in [Budget::HEADLINE, Budget::STORED] {
        let whole = reduce(b"", [log.as_slice()].into_iter(), budget);
        check(&log, &whole, budget);
        assert_eq!(whole, reduce(b"", log.chunks(65_521), budget));
        assert_eq!(whole.decisive.as_ref().map(|decisive| decisive.line), Some(2));
        assert!(whole.items.iter().any(|item| item.cut_lines == 1));
    }
}

#[test]
fn a_gap_in_the_middle_keeps_the_ranges_after_it() {
    let middle = b"not read\n".repeat(1_000);
    let (first, last) =
        (b"start\nhalf a li".as_slice(), b"rest of a line\nerror: late failure\nbye\n".as_slice());
    let log = [first, &middle, last].concat();
    let mut reducer = Reducer::new(&[]);
    reducer.push(first);
    reducer.skip(middle.len() as u64, count_newlines(&middle));
    reducer.push(last);
    let reduction = reducer.finish(Budget::PANEL);
    assert_eq!((reduction.size.skipped_bytes, reduction.size.skipped_lines), (9_000, 1_000));
    assert_eq!((reduction.size.lines, reduction.size.bytes), (1_004, log.len() as u64));
    let decisive = reduction.decisive.as_ref().unwrap();
    assert_eq!((decisive.line, decisive.text.as_str()), (1_003, "error: late failure"));
    for item in &reduction.items {
        let range = item.from_byte as usize..item.to_byte as usize;
        let shown: Vec<String> = log[range].split(|byte| *byte == b'\n').map(shown_text).collect();
        assert_eq!(shown.join("\n"), item.text);
    }
}
