//! Assigns candidates to demands, each candidate at most once: people to the rules of an approval.

/// Returns for each candidate the demand that it fills, so that as many as possible of the demands are filled.
/// `counts` has how many candidates each demand needs, `fits` returns whether a demand (first) accepts a
/// candidate (second).
///
/// A maximum bipartite matching by augmenting paths. The depth of the recursion is the number of demands at most.
pub fn assign(counts: &[u32], candidates: usize, fits: &dyn Fn(usize, usize) -> bool) -> Vec<Option<usize>> {
    let mut search = Search { assigned: vec![None; candidates], fits };
    for (demand, count) in counts.iter().enumerate() {
        for _ in 0..*count {
            if !search.augment(demand, &mut vec![false; counts.len()]) {
                break;
            }
        }
    }
    search.assigned
}

/// Returns whether all demands can be filled.
pub fn is_fillable(counts: &[u32], candidates: usize, fits: &dyn Fn(usize, usize) -> bool) -> bool {
    let filled = assign(counts, candidates, fits).iter().flatten().count() as u64;
    filled == counts.iter().map(|count| u64::from(*count)).sum::<u64>()
}

struct Search<'a> {
    /// The demand of each candidate.
    assigned: Vec<Option<usize>>,
    fits: &'a dyn Fn(usize, usize) -> bool,
}

impl Search<'_> {
    /// Assigns one more candidate to a demand, and reassigns others if that is necessary.
    fn augment(&mut self, demand: usize, visited: &mut [bool]) -> bool {
        match visited.get_mut(demand) {
            Some(visited) if !*visited => *visited = true,
            _ => return false,
        }
        let fitting =
            |search: &Self| (0..search.assigned.len()).filter(|it| (search.fits)(demand, *it)).collect();
        let fitting: Vec<usize> = fitting(self);
        let is_free = |it: &&usize| self.assigned.get(**it).is_some_and(Option::is_none);
        let free = fitting.iter().find(is_free).copied();
        let found = free.or_else(|| {
            fitting.into_iter().find(|candidate| {
                let other = self.assigned.get(*candidate).copied().flatten();
                other.is_some_and(|other| self.augment(other, visited))
            })
        });
        match found.and_then(|candidate| self.assigned.get_mut(candidate)) {
            Some(place) => {
                *place = Some(demand);
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most demands that can be filled, by trying every assignment.
    fn brute_force(left: &mut [u32], candidate: usize, masks: &[u8]) -> usize {
        let Some(mask) = masks.get(candidate) else { return 0 };
        let mut best = brute_force(left, candidate + 1, masks);
        for demand in 0..left.len() {
            if mask & (1 << demand) != 0 && left[demand] > 0 {
                left[demand] -= 1;
                best = best.max(1 + brute_force(left, candidate + 1, masks));
                left[demand] += 1;
            }
        }
        best
    }

    /// Up to five candidates and three demands: every relation between them, and every count up to two.
    #[test]
    fn every_small_case_is_as_good_as_brute_force() {
        let mut cases = 0;
        for demands in 0..=3_usize {
            for counts in 0..3_usize.pow(u32::try_from(demands).unwrap()) {
                let mut counts: Vec<u32> =
                    (0..demands).map(|place| (counts / 3_usize.pow(place as u32) % 3) as u32).collect();
                for candidates in 0..=4_usize {
                    for relation in 0..1_usize << (demands * candidates) {
                        let mask = |candidate: usize| (relation >> (candidate * demands)) as u8;
                        let masks: Vec<u8> =
                            (0..candidates).map(|it| mask(it) & ((1 << demands) - 1)).collect();
                        let fits = |demand: usize, it: usize| masks[it] & (1 << demand) != 0;
                        let found = assign(&counts, candidates, &fits);
                        check(&counts, &found, &fits);
                        let filled = found.iter().flatten().count();
                        assert_eq!(filled, brute_force(&mut counts, 0, &masks), "{counts:?} {masks:?}");
                        let all = counts.iter().sum::<u32>() as usize == filled;
                        assert_eq!(is_fillable(&counts, candidates, &fits), all);
                        cases += 1;
                    }
                }
            }
        }
        assert!(cases > 100_000, "{cases}");
    }

    /// Every candidate fits its demand, and no demand gets more than it needs.
    fn check(counts: &[u32], found: &[Option<usize>], fits: &dyn Fn(usize, usize) -> bool) {
        for (candidate, demand) in found.iter().enumerate() {
            assert!(demand.is_none_or(|demand| fits(demand, candidate)));
        }
        for (demand, count) in counts.iter().enumerate() {
            let got = found.iter().filter(|it| **it == Some(demand)).count();
            assert!(got <= *count as usize, "{counts:?} {found:?}");
        }
    }
}
