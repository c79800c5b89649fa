//! What the steps print: each secret in each form, cut in two at each place, as scripts that contain only numbers of
//! bytes. A secret is nowhere in a script as text, so that the scripts themselves can be anywhere.

use std::fmt::Write;

use crate::search::forms::{COUNT, forms};
use crate::search::values::CanarySecret;

/// The number of places at which a form is cut.
const CUTS: usize = 64;
/// The number of stages. Each has its share of the secrets.
pub(crate) const STAGES: usize = 10;

/// Returns the key of a stage.
pub(crate) fn stage_key(stage: usize) -> String {
    format!("print-{stage}")
}
/// The pause between the two pieces, so that they are read separately.
const PAUSE: &str = "sleep 0.003";

pub(crate) struct Print {
    pub(crate) number: usize,
    pub(crate) stage: usize,
    pub(crate) text: Vec<u8>,
    cut: usize,
}

/// Plans `wanted` prints, evenly spread over secrets, forms and cuts.
pub(crate) fn plan(secrets: &[CanarySecret], wanted: u32) -> Vec<Print> {
    let wanted = wanted as usize;
    let is_all = wanted >= secrets.len() * COUNT * CUTS;
    let print = |number: usize| {
        let (secret, round) = (number % secrets.len(), number / secrets.len());
        // Few prints begin with another form for each secret, so that all forms occur.
        let form = (round + secret) % COUNT;
        let cut = if is_all { round / COUNT } else { number * 37 } % CUTS;
        let value = secrets.get(secret).map(|secret| secret.value.as_str()).unwrap_or_default();
        let text = forms(value, cut)[form].printed.clone();
        let cut = 1 + cut % text.len().saturating_sub(1).max(1);
        Print { number, stage: secret % STAGES, text, cut }
    };
    (0..wanted).map(print).collect()
}

impl Print {
    /// The text as it is in a log that nothing masks.
    pub(crate) fn unmasked(&self) -> Vec<u8> {
        let (begin, end) = (format!("[{}|", self.number), format!("|{}]\n", self.number));
        [begin.as_bytes(), &self.text, end.as_bytes()].concat()
    }
}

/// Returns the script of a stage, for any POSIX shell.
pub(crate) fn script(prints: &[Print], stage: usize) -> String {
    let mut script = String::new();
    for print in prints.iter().filter(|print| print.stage == stage) {
        let (first, second) = print.text.split_at(print.cut.min(print.text.len()));
        let number = print.number;
        let (first, second) = (octal(first), octal(second));
        let _ = writeln!(script, "printf '[{number}|{first}'; {PAUSE}; printf '{second}|{number}]\\n'");
    }
    script
}

fn octal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:03o}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::values::make;

    #[test]
    fn every_secret_and_form_is_printed_and_scripts_contain_none() {
        let secrets = make(50);
        for wanted in [800, 51_200] {
            let prints = plan(&secrets, wanted);
            assert_eq!(prints.len(), wanted as usize);
            let scripts: String = (0..STAGES).map(|stage| script(&prints, stage)).collect();
            assert_eq!(scripts.lines().count(), prints.len());
            assert!(secrets.iter().all(|secret| !scripts.contains(secret.value.trim())));
        }
        let mut texts: Vec<_> = plan(&secrets, 800).into_iter().map(|print| print.text).collect();
        texts.sort();
        texts.dedup();
        assert!(texts.len() > 500, "{}", texts.len());
    }
}
