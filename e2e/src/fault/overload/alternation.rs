//! The order of quiet and attack: pairs of two windows, random within each pair, so that nothing that changes slowly or
//! regularly on the machine hits one side only.

use rand::RngExt;
use rand::rngs::StdRng;

/// Pairs in one phase.
pub(crate) const PAIRS: u32 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Quiet,
    Attack,
}

/// Returns the sides of all windows of a phase, two of each pair after the other.
pub(crate) fn sides(rng: &mut StdRng) -> [[Side; 2]; PAIRS as usize] {
    std::array::from_fn(|_| {
        if rng.random_ratio(1, 2) { [Side::Quiet, Side::Attack] } else { [Side::Attack, Side::Quiet] }
    })
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn each_pair_has_both_sides_in_an_order_of_the_seed() {
        let of_seed = |seed| sides(&mut StdRng::seed_from_u64(seed));
        assert_eq!(of_seed(7), of_seed(7));
        let pairs: Vec<[Side; 2]> = (0..20).flat_map(of_seed).collect();
        assert!(pairs.iter().all(|[first, second]| first != second));
        let quiet_first = pairs.iter().filter(|[first, _]| *first == Side::Quiet).count();
        assert!((30..=90).contains(&quiet_first), "{quiet_first} of {}", pairs.len());
    }
}
