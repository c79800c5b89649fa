//! Warnings about figures that are close to their limits, before a run fails because of them.

/// The share of a limit from which a figure is close to it.
const NEAR: f64 = 0.95;

/// Returns one line about all figures (name, value, limit) that are within their limits, but close to them.
pub(crate) fn warning(figures: &[(&str, f64, f64)]) -> Option<String> {
    let near = figures.iter().filter(|(_, value, limit)| *value >= limit * NEAR && value <= limit);
    let texts: Vec<String> = near
        .map(|(name, value, limit)| {
            format!("{name} {value:.1} is {:.1} % of its limit {limit}", value / limit * 100.0)
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_close_to_their_limits_are_named() {
        let figures = [("maxRssMib", 62.7, 64.0), ("maxSeconds", 12.0, 90.0), ("cpu", 2.9, 3.0)];
        let text = warning(&figures).unwrap();
        assert_eq!(text, "maxRssMib 62.7 is 98.0 % of its limit 64; cpu 2.9 is 96.7 % of its limit 3");
        assert_eq!(warning(&figures[1..2]), None);
    }

    #[test]
    fn a_figure_over_its_limit_is_a_violation_and_no_warning() {
        assert_eq!(warning(&[("maxRssMib", 64.1, 64.0)]), None);
        assert!(warning(&[("maxRssMib", 64.0, 64.0), ("other", 60.7, 64.0)]).is_some());
    }
}
