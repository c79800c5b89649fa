//! Figures of the two sides of each pair, compared with a limit.

use serde::Serialize;

use crate::fault::overload::pair::Pair;

/// The comparison is violated although this many pairs are within the limit. If noise hits each window with a probability
/// of 0.3, five of six pairs exceed the limit in about 1 % of runs.
const MAX_PAIRS_WITHIN: usize = 1;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Compared {
    /// The median of all pairs; null without pairs, or if most attacks left nothing to compare.
    pub(crate) median: Option<f64>,
    pub(crate) limit: f64,
    /// How many pairs exceed the limit.
    pub(crate) over: usize,
    pub(crate) pairs: Vec<Option<f64>>,
}

impl Compared {
    /// `of` returns `None` for a pair whose victim got no response under attack. Such a pair exceeds every limit.
    pub(crate) fn new(pairs: &[Pair], limit: f64, of: impl Fn(&Pair) -> Option<f64>) -> Self {
        let mut figures: Vec<f64> = pairs.iter().map(|pair| of(pair).unwrap_or(f64::INFINITY)).collect();
        let over = figures.iter().filter(|figure| **figure > limit).count();
        let in_order = figures.clone();
        figures.sort_unstable_by(f64::total_cmp);
        let middle = |index: usize| figures.get(index).copied().unwrap_or(f64::NAN);
        let median = f64::midpoint(middle(figures.len() / 2), middle(figures.len().saturating_sub(1) / 2));
        let finite = |figure: f64| figure.is_finite().then_some(figure);
        Self { median: finite(median), limit, over, pairs: in_order.into_iter().map(finite).collect() }
    }

    /// The figures of all pairs, for people.
    pub(crate) fn figures(&self) -> String {
        let text =
            |figure: &Option<f64>| figure.map_or_else(|| "none".to_owned(), |figure| format!("{figure:.1}"));
        self.pairs.iter().map(text).collect::<Vec<_>>().join(", ")
    }

    /// Returns whether all pairs but one exceed the limit at least.
    pub(crate) fn is_violated(&self) -> bool {
        self.over > 0 && self.pairs.len() - self.over <= MAX_PAIRS_WITHIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(figures: &[f64]) -> Compared {
        let pairs = vec![Pair::default(); figures.len()];
        let next = std::cell::Cell::new(0);
        Compared::new(&pairs, 3.0, |_| {
            let index = next.replace(next.get() + 1);
            figures.get(index).copied().filter(|figure| figure.is_finite())
        })
    }

    #[test]
    fn five_of_six_pairs_make_a_violation() {
        let five = of(&[3.1, 9.0, 2.9, 3.2, 4.0, 3.4]);
        assert_eq!((five.over, five.is_violated()), (5, true));
        assert_eq!(five.figures(), "3.1, 9.0, 2.9, 3.2, 4.0, 3.4");
        let four = of(&[30.0, 90.0, 2.9, 2.8, 40.0, 34.0]);
        assert_eq!((four.over, four.is_violated()), (4, false));
        assert!(of(&[3.1; 6]).is_violated() && !of(&[3.0; 6]).is_violated() && !of(&[]).is_violated());
    }

    #[test]
    fn the_result_is_the_median() {
        assert_eq!(of(&[1.0, 9.0, 2.0, 4.0, 1.5, 2.5]).median, Some(2.25));
        assert_eq!(of(&[1.0, 9.0, 2.0]).median, Some(2.0));
        assert_eq!(of(&[]).median, None);
    }

    #[test]
    fn a_pair_without_a_response_under_attack_exceeds_the_limit() {
        let compared = of(&[1.0, f64::INFINITY, 2.0, 1.0, 1.0, 1.0]);
        assert_eq!((compared.over, compared.pairs[1], compared.median), (1, None, Some(1.0)));
        assert_eq!(of(&[f64::INFINITY; 6]).median, None);
    }
}
