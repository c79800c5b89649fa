//! Line numbers of logs. A log is a sequence of bytes that is divided into blocks of [`BLOCK_BYTES`]. For
//! each block, the number of newlines before it is kept, so that the position of a line is found by reading
//! one block. The number of blocks depends on the length of the log alone, whatever it contains.

/// The distance between two positions whose line number is kept.
pub const BLOCK_BYTES: u64 = 64 * 1024;

/// What was counted of a log, from its beginning on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCount {
    /// How many bytes were counted.
    pub bytes: u64,
    pub newlines: u64,
    /// The position after the last newline.
    pub last_line_start: u64,
}

impl LineCount {
    /// Counts the next bytes of the log. Returns, for each block that begins in them, the number of newlines
    /// before it.
    pub fn append(&mut self, bytes: &[u8]) -> Vec<u64> {
        let mut blocks = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let within = self.bytes % BLOCK_BYTES;
            if within == 0 {
                blocks.push(self.newlines);
            }
            // At most the length of a block.
            let length = rest.len().min((BLOCK_BYTES - within) as usize);
            let (part, after) = rest.split_at(length);
            self.newlines += count_newlines(part);
            if let Some(last) = part.iter().rposition(|byte| *byte == b'\n') {
                self.last_line_start = self.bytes + last as u64 + 1;
            }
            self.bytes += length as u64;
            rest = after;
        }
        blocks
    }

    /// Returns the number of lines. A last line without a newline counts, if it has a byte.
    pub fn lines(&self) -> u64 {
        self.newlines + u64::from(self.last_line_start < self.bytes)
    }
}

pub fn count_newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Returns the position of the first block that begins at or after `start`.
pub const fn first_block(start: u64) -> u64 {
    start.div_ceil(BLOCK_BYTES) * BLOCK_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: usize = BLOCK_BYTES as usize;

    fn count(log: &[u8], piece: usize) -> (LineCount, Vec<u64>) {
        let (mut count, mut blocks) = (LineCount::default(), Vec::new());
        for piece in log.chunks(piece) {
            let before = count.bytes;
            let found = count.append(piece);
            // The position of a block follows from the piece and the block's place in the result.
            let expected = (first_block(before)..count.bytes).step_by(BLOCK).count();
            assert_eq!(found.len(), expected);
            blocks.extend(found);
        }
        (count, blocks)
    }

    #[test]
    fn lines_are_counted_by_their_first_byte() {
        for (log, lines, last_line_start) in [
            (&b""[..], 0, 0),
            (&b"a"[..], 1, 0),
            (&b"\n"[..], 1, 1),
            (&b"a\n"[..], 1, 2),
            (&b"a\nb"[..], 2, 2),
            (&b"\n\n\n"[..], 3, 3),
            (&b"a\r\n\0\xff\n"[..], 2, 6),
        ] {
            let (counted, _) = count(log, 1);
            assert_eq!((counted.lines(), counted.last_line_start), (lines, last_line_start), "{log:?}");
            assert_eq!(counted, count(log, 100).0);
        }
    }

    #[test]
    fn the_pieces_of_a_log_do_not_matter() {
        let newlines = vec![b'\n'; 3 * BLOCK + 1];
        let one_line = vec![b'x'; 2 * BLOCK];
        let mixed: Vec<u8> = (0..2 * BLOCK + 777).map(|at| if at % 91 == 3 { b'\n' } else { 0xff }).collect();
        for log in [newlines, one_line, mixed] {
            let expected: Vec<u64> =
                (0..log.len()).step_by(BLOCK).map(|at| count_newlines(&log[..at])).collect();
            for piece in [1_000, BLOCK - 1, BLOCK, BLOCK + 1, log.len()] {
                let (counted, blocks) = count(&log, piece);
                assert_eq!((counted.bytes, counted.newlines), (log.len() as u64, count_newlines(&log)));
                assert_eq!(blocks, expected, "pieces of {piece} bytes");
            }
        }
    }
}
