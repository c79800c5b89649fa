//! The templates of a log, as hashes. Those of good runs are stored, and compared with the log of a failed one.

use super::template::hash;

const MAGIC: &[u8; 4] = b"GRTS";
/// Raised whenever templates, their hash or this format change. A set with another version is made again from its log.
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 24;
/// How many templates a log has at most. Further ones are not stored, so the failed log has more new lines.
pub(crate) const MAX_TEMPLATES: usize = 128 * 1024;

/// The bytes are not a set of templates of this version, or they are damaged. The set has to be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a set of templates, or of another version, or damaged")]
pub struct InvalidTemplateSet;

/// The hashes of the templates of one or several logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateSet {
    /// In ascending order, each once.
    hashes: Vec<u64>,
}

impl TemplateSet {
    pub(crate) fn new(mut hashes: Vec<u64>) -> Self {
        hashes.sort_unstable();
        hashes.dedup();
        Self { hashes }
    }

    pub fn union(sets: &[Self]) -> Self {
        Self::new(sets.iter().flat_map(|set| set.hashes.iter().copied()).collect())
    }

    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    pub(crate) fn contains(&self, hash: u64) -> bool {
        self.hashes.binary_search(&hash).is_ok()
    }

    /// Returns the stored form: a header and 8 bytes per template.
    pub fn to_bytes(&self) -> Vec<u8> {
        let body: Vec<u8> = self.hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(self.hashes.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&hash(&body).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidTemplateSet> {
        let (header, body) = bytes.split_at_checked(HEADER_BYTES).ok_or(InvalidTemplateSet)?;
        let (words, rest) = body.as_chunks::<8>();
        let mut expected = Vec::with_capacity(HEADER_BYTES);
        expected.extend_from_slice(MAGIC);
        expected.extend_from_slice(&VERSION.to_le_bytes());
        expected.extend_from_slice(&(words.len() as u64).to_le_bytes());
        expected.extend_from_slice(&hash(body).to_le_bytes());
        let hashes: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let is_valid = header == expected
            && rest.is_empty()
            && hashes.len() <= MAX_TEMPLATES
            && hashes.is_sorted_by(|first, second| first < second);
        if is_valid { Ok(Self { hashes }) } else { Err(InvalidTemplateSet) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_read_back() {
        for hashes in [vec![], vec![7], vec![3, 1, u64::MAX, 3]] {
            let set = TemplateSet::new(hashes);
            assert_eq!(TemplateSet::from_bytes(&set.to_bytes()), Ok(set));
        }
    }

    #[test]
    fn damaged_bytes_are_rejected() {
        let bytes = TemplateSet::new(vec![1, 2, 3]).to_bytes();
        assert_eq!(bytes.len(), HEADER_BYTES + 24);
        for length in 0..bytes.len() {
            assert_eq!(TemplateSet::from_bytes(&bytes[..length]), Err(InvalidTemplateSet), "{length}");
        }
        for position in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[position] ^= 0x10;
            assert_eq!(TemplateSet::from_bytes(&damaged), Err(InvalidTemplateSet), "{position}");
        }
        let longer = [bytes.as_slice(), &[0; 8]].concat();
        assert_eq!(TemplateSet::from_bytes(&longer), Err(InvalidTemplateSet));
        let unsorted = TemplateSet { hashes: vec![2, 1] };
        assert_eq!(TemplateSet::from_bytes(&unsorted.to_bytes()), Err(InvalidTemplateSet));
    }

    #[test]
    fn a_union_contains_the_templates_of_all() {
        let union = TemplateSet::union(&[TemplateSet::new(vec![1, 5]), TemplateSet::new(vec![5, 2])]);
        assert_eq!(union, TemplateSet::new(vec![1, 2, 5]));
        assert!(union.contains(2) && !union.contains(3));
    }
}
