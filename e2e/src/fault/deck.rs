//! In which order faults come.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// `count` of them: as many of each kind as of any other, shuffled round by round.
pub(crate) fn deck<F: Copy>(kinds: &[F], count: u64, rng: &mut StdRng) -> Vec<F> {
    let mut deck = Vec::new();
    while (deck.len() as u64) < count && !kinds.is_empty() {
        let mut round = kinds.to_vec();
        round.shuffle(rng);
        deck.extend(round);
    }
    deck.truncate(usize::try_from(count).unwrap_or(usize::MAX));
    deck
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_deck_has_equal_shares_and_follows_its_seed() {
        let kinds: Vec<u32> = (0..10).collect();
        let deck_of = |seed| deck(&kinds, 50, &mut StdRng::seed_from_u64(seed));
        for kind in &kinds {
            assert_eq!(deck_of(1).iter().filter(|fault| *fault == kind).count(), 5);
        }
        assert_eq!(deck_of(1), deck_of(1));
        assert_ne!(deck_of(1), deck_of(2));
        assert_eq!(deck(&kinds, 3, &mut StdRng::seed_from_u64(1)).len(), 3);
        assert!(deck::<u32>(&[], 3, &mut StdRng::seed_from_u64(1)).is_empty());
    }
}
