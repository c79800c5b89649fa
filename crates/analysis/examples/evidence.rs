//! `evidence FAILED [GOOD…]`: prints what is shown of a log.

use std::io::{self, Write};

use greenroom_analysis::reduce::{Budget, Reducer};
use greenroom_analysis::rules::{Clues, categorize};

fn main() -> io::Result<()> {
    let mut paths = std::env::args().skip(1);
    let failed = std::fs::read(paths.next().unwrap_or_default())?;
    let mut baselines = Vec::new();
    for path in paths {
        let mut reducer = Reducer::new(&[]);
        reducer.push(&std::fs::read(path)?);
        baselines.push(reducer.templates());
    }
    let mut reducer = Reducer::new(&baselines);
    reducer.push(&failed);
    let reduction = reducer.finish(Budget::PANEL);
    let mut out = io::stdout().lock();
    if let Some(decisive) = &reduction.decisive {
        let block = reduction.items.get(decisive.item).map_or("", |item| item.text.as_str());
        let clues = Clues { decisive: &decisive.text, block, ..Clues::default() };
        writeln!(out, "{} {}: {}", categorize(&clues), decisive.line, decisive.text)?;
    }
    for item in &reduction.items {
        let new = if item.is_new { '+' } else { ' ' };
        writeln!(out, "{new} {}-{} ({} like it)", item.from_line, item.to_line, item.repeats)?;
        for line in item.text.lines() {
            writeln!(out, "    {line}")?;
        }
    }
    writeln!(
        out,
        "{:?}, {} folded, {} omitted",
        reduction.size, reduction.folded_lines, reduction.omitted_lines
    )
}
