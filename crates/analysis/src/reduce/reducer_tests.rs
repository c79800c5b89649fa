use super::super::reduction::Reduction;
use super::*;

fn reduce(good: &[&str], log: &str) -> Reduction {
    let baselines: Vec<TemplateSet> = good
        .iter()
        .map(|log| {
            let mut reducer = Reducer::new(&[]);
            reducer.push(log.as_bytes());
            reducer.templates()
        })
        .collect();
    let mut reducer = Reducer::new(&baselines);
    reducer.push(log.as_bytes());
    reducer.finish(Budget::STORED)
}

fn decisive(good: &[&str], log: &str) -> String {
    reduce(good, log).decisive.map(|decisive| decisive.text).unwrap_or_default()
}

const GOOD: &str = "start 1\nconnect 10.0.0.1\nINFO error budget ok\nmigrate 3 tables\ndone in 3 s\n";

#[test]
fn the_last_line_with_text_is_decisive_however_many_blank_lines_follow() {
    for blank in ["\n", " \t\n"] {
        for count in [1, 199, 200, 201, 1_000] {
            let log = format!("starting\nstopped\n{}", blank.repeat(count));
            assert_eq!(decisive(&["starting\nstopped\n"], &log), "stopped", "{count} of {blank:?}");
            assert_eq!(decisive(&["starting\nstopped\n"], &format!("{log}ready\n")), "ready");
        }
    }
}

#[test]
fn the_new_line_is_decisive() {
    let log =
        "start 2\nconnect 10.0.0.7\nINFO error budget ok\nERROR: schema version 41 expected, found 40\n";
    assert_eq!(decisive(&[GOOD], log), "ERROR: schema version 41 expected, found 40");
    assert_eq!(decisive(&[], log), "ERROR: schema version 41 expected, found 40");
    let reduction = reduce(&[GOOD], log);
    assert_eq!((reduction.size.lines, reduction.size.new_lines, reduction.omitted_lines), (4, 1, 0));
    let item = &reduction.items[0];
    assert_eq!((item.from_line, item.from_byte, item.to_byte), (4, 46, 89));
    assert!(item.is_new);
}

#[test]
fn harmless_lines_before_and_behind_do_not_hide_it() {
    let noise = |word: &str| -> String {
        (0..300)
            .map(|i| format!("{word} {} of module {}\n", "x".repeat(i % 40 + 1), "y".repeat(i % 37 + 1)))
            .collect()
    };
    let (before, behind) = (noise("prepare"), noise("remove"));
    let failure = "error: could not connect to redis\n";
    let log = format!("start 2\n{before}{failure}{behind}");
    let good = format!("{GOOD}{behind}");
    for good in [&[good.as_str()][..], &[GOOD], &[]] {
        assert_eq!(decisive(good, &log), "error: could not connect to redis");
    }
}

#[test]
fn repeats_are_folded_and_counted() {
    let log = format!("start 2\n{}fatal: giving up\n", "ERROR worker 1: query failed\n".repeat(80));
    let reduction = reduce(&[GOOD], &log);
    let texts: Vec<_> = reduction.items.iter().map(|item| (item.text.as_str(), item.repeats)).collect();
    assert!(texts.contains(&("ERROR worker 1: query failed", 80)), "{texts:?}");
    assert_eq!((reduction.folded_lines, reduction.omitted_lines, reduction.size.new_lines), (79, 0, 81));
}

#[test]
fn a_hang_shows_the_last_line() {
    let log = "start 2\nconnect 10.0.0.7\n\n";
    let reduction = reduce(&[GOOD], log);
    assert_eq!(reduction.decisive.as_ref().map(|decisive| decisive.line), Some(2));
    assert!(!reduction.items[0].is_new);
    assert_eq!(reduce(&[GOOD], "").decisive, None);
}

#[test]
fn a_running_log_can_be_ranked_and_continued() {
    let mut reducer = Reducer::new(&[]);
    reducer.push(b"start\nerror: on");
    assert_eq!(
        reducer.finish(Budget::HEADLINE).decisive.map(|decisive| decisive.text),
        Some("error: on".into())
    );
    reducer.push(b"e\n");
    assert_eq!(
        reducer.finish(Budget::HEADLINE).decisive.map(|decisive| decisive.text),
        Some("error: one".into())
    );
}

#[test]
fn memory_is_bounded_with_hostile_lines() {
    let mut reducer = Reducer::new(&[]);
    let letters = |mut number: usize| -> String {
        std::iter::repeat_with(|| {
            let letter = char::from(b'a' + (number % 26) as u8);
            number /= 26;
            letter
        })
        .take(6)
        .collect()
    };
    for number in 0..MAX_TEMPLATES + 1_000 {
        reducer.push(format!("error {}\n", letters(number)).as_bytes());
    }
    assert_eq!(reducer.state.templates.len(), MAX_TEMPLATES);
    assert_eq!(reducer.state.records.len(), MAX_RECORDS);
    assert_eq!(reducer.state.older_strong.len(), MAX_OLDER_STRONG);
    let reduction = reducer.finish(Budget::STORED);
    assert_eq!(reduction.size.new_lines, (MAX_TEMPLATES + 1_000) as u64);
    assert_eq!(TemplateSet::from_bytes(&reducer.templates().to_bytes()), Ok(reducer.templates()));
}
