//! Median, quartiles, and their interpretation.

/// The median ratio that still counts as not slower.
const MIN_MEDIAN: f64 = 0.95;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quartiles {
    pub(crate) lower: f64,
    pub(crate) median: f64,
    pub(crate) upper: f64,
}

impl Quartiles {
    /// Returns the quartiles. Without values, all three are NaN.
    pub(crate) fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| quantile(&sorted, share);
        Self { lower: at(0.25), median: at(0.5), upper: at(0.75) }
    }

    /// Interprets ratios of throughput, new ÷ baseline, where higher is better.
    pub(crate) fn is_not_slower(&self) -> bool {
        self.median >= MIN_MEDIAN || (self.lower <= 1.0 && 1.0 <= self.upper)
    }
}

/// Interpolates between two values, as R, NumPy and spreadsheets do by default.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = share * last as f64;
    let (below, rest) = (position.floor(), position.fract());
    let value = |at: f64| sorted.get(at as usize).copied().unwrap_or(f64::NAN);
    value(below) + rest * (value(position.ceil()) - value(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated() {
        let four = Quartiles::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!(four, Quartiles { lower: 1.75, median: 2.5, upper: 3.25 });
        let five = Quartiles::of(&[5.0, 4.0, 3.0, 2.0, 1.0]);
        assert_eq!(five, Quartiles { lower: 2.0, median: 3.0, upper: 4.0 });
    }

    #[test]
    fn one_value_is_all_three() {
        assert_eq!(Quartiles::of(&[0.7]), Quartiles { lower: 0.7, median: 0.7, upper: 0.7 });
    }

    #[test]
    fn without_values_there_is_no_result() {
        let none = Quartiles::of(&[]);
        assert!(none.median.is_nan());
        assert!(!none.is_not_slower());
    }

    #[test]
    fn a_median_of_95_percent_is_not_slower() {
        assert!(Quartiles::of(&[0.95, 0.95, 0.95]).is_not_slower());
        assert!(Quartiles::of(&[0.9, 0.95, 0.96]).is_not_slower());
        assert!(!Quartiles::of(&[0.949, 0.949, 0.949]).is_not_slower());
    }

    #[test]
    fn one_within_the_quartiles_is_not_slower() {
        let wide = Quartiles::of(&[0.6, 0.7, 0.8, 1.1, 1.2]);
        assert_eq!(wide, Quartiles { lower: 0.7, median: 0.8, upper: 1.1 });
        assert!(wide.is_not_slower());
        assert!(!Quartiles::of(&[0.6, 0.7, 0.8, 0.9, 1.2]).is_not_slower());
        assert!(Quartiles { lower: 0.8, median: 0.9, upper: 1.0 }.is_not_slower());
    }

    #[test]
    fn a_faster_side_is_not_slower() {
        assert!(Quartiles::of(&[1.2, 1.3, 1.4]).is_not_slower());
    }
}
