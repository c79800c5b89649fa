//! Which faults there are, and in which order they come.

mod inject;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use serde::Serialize;

pub(crate) use inject::Injector;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Fault {
    KillServer,
    PauseServer,
    KillWorker,
    PauseWorker,
    KillPostgres,
    RestartPostgres,
    BlackHoleOne,
    BlackHoleAll,
    Latency,
    Clocks,
}

impl Fault {
    pub(crate) const ALL: [Self; 10] = [
        Self::KillServer,
        Self::PauseServer,
        Self::KillWorker,
        Self::PauseWorker,
        Self::KillPostgres,
        Self::RestartPostgres,
        Self::BlackHoleOne,
        Self::BlackHoleAll,
        Self::Latency,
        Self::Clocks,
    ];

    /// `count` of them: as many of each kind as of any other, shuffled round by round.
    pub(crate) fn deck(count: u64, rng: &mut StdRng) -> Vec<Self> {
        let mut deck = Vec::new();
        while (deck.len() as u64) < count {
            let mut round = Self::ALL;
            round.shuffle(rng);
            deck.extend(round);
        }
        deck.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        deck
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_deck_has_equal_shares_and_follows_its_seed() {
        let deck = |seed| Fault::deck(50, &mut StdRng::seed_from_u64(seed));
        for kind in Fault::ALL {
            assert_eq!(deck(1).iter().filter(|fault| **fault == kind).count(), 5);
        }
        assert_eq!(deck(1), deck(1));
        assert_ne!(deck(1), deck(2));
        assert_eq!(Fault::deck(3, &mut StdRng::seed_from_u64(1)).len(), 3);
    }
}
