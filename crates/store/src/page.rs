//! Pages of lists, and totals that stay cheap.

/// Filtered lists are counted up to this many rows. Beyond that the total is marked as capped.
pub const MAX_COUNT: i64 = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub limit: i64,
    pub offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    pub count: i64,
    /// There are more than `count`.
    pub capped: bool,
}

impl Total {
    pub const fn exactly(count: i64) -> Self {
        Self { count, capped: false }
    }

    /// `counted` is the result of a count that stopped at `MAX_COUNT + 1`.
    pub fn counted(counted: i64) -> Self {
        Self { count: counted.min(MAX_COUNT), capped: counted > MAX_COUNT }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct PageResult<T> {
    pub rows: Vec<T>,
    pub total: Total,
}
