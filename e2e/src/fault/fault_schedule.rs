//! The order of the faults.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Returns `count` faults: equal shares of each kind, in shuffled groups that contain each kind once.
pub(crate) fn fault_schedule<F: Copy>(kinds: &[F], count: u64, rng: &mut StdRng) -> Vec<F> {
    let mut schedule = Vec::new();
    while (schedule.len() as u64) < count && !kinds.is_empty() {
        let mut group = kinds.to_vec();
        group.shuffle(rng);
        schedule.extend(group);
    }
    schedule.truncate(usize::try_from(count).unwrap_or(usize::MAX));
    schedule
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_schedule_has_equal_shares_and_follows_its_seed() {
        let kinds: Vec<u32> = (0..10).collect();
        let schedule_of = |seed| fault_schedule(&kinds, 50, &mut StdRng::seed_from_u64(seed));
        for kind in &kinds {
            assert_eq!(schedule_of(1).iter().filter(|fault| *fault == kind).count(), 5);
        }
        assert_eq!(schedule_of(1), schedule_of(1));
        assert_ne!(schedule_of(1), schedule_of(2));
        assert_eq!(fault_schedule(&kinds, 3, &mut StdRng::seed_from_u64(1)).len(), 3);
        assert!(fault_schedule::<u32>(&[], 3, &mut StdRng::seed_from_u64(1)).is_empty());
    }
}
