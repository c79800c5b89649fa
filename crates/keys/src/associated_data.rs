//! Associated data: what sealed bytes are bound to. It is not stored with them, but made again from the row
//! that they are read from.

/// Joins parts. Each one has its length before it, so that no two lists of parts have the same bytes.
pub(crate) fn associated_data(parts: &[&[u8]]) -> Vec<u8> {
    let mut data = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
    for part in parts {
        data.extend_from_slice(&(part.len() as u64).to_be_bytes());
        data.extend_from_slice(part);
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_parts_never_have_the_same_bytes() {
        let lists: [&[&[u8]]; 6] =
            [&[b"ab", b"c"], &[b"a", b"bc"], &[b"abc"], &[b"abc", b""], &[b"", b"abc"], &[]];
        for (at, one) in lists.iter().enumerate() {
            for other in &lists[at + 1..] {
                assert_ne!(associated_data(one), associated_data(other));
            }
        }
    }
}
