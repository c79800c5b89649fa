//! Which cases are played: one of each kind, and then random ones until the number of failures is reached.

use rand::RngExt;
use rand::rngs::StdRng;

use crate::fault::verdicts::case::CaseKind;

pub(super) fn plan(failures: usize, rng: &mut StdRng) -> Vec<CaseKind> {
    let mut cases = CaseKind::ALL.to_vec();
    let mut left = failures.saturating_sub(cases.iter().map(|kind| kind.failures()).sum());
    while left > 0 {
        let fitting: Vec<CaseKind> =
            CaseKind::ALL.into_iter().filter(|kind| kind.failures() <= left).collect();
        let mut at = rng.random_range(0..fitting.iter().map(|kind| kind.weight()).sum());
        let chosen = fitting.into_iter().find(|kind| {
            let is_chosen = at < kind.weight();
            at = at.saturating_sub(kind.weight());
            is_chosen
        });
        let Some(kind) = chosen else { break };
        left -= kind.failures();
        cases.push(kind);
    }
    cases
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn each_kind_occurs_and_the_number_is_exact() {
        for failures in [30, 40, 200] {
            let cases = plan(failures, &mut StdRng::seed_from_u64(1));
            assert_eq!(cases.iter().map(|kind| kind.failures()).sum::<usize>(), failures);
            assert!(CaseKind::ALL.iter().all(|kind| cases.contains(kind)));
        }
    }
}
