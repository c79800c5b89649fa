//! Pages of lists, and totals that stay cheap.

/// Filtered lists are counted up to this many, then they say that there are more.
pub const COUNTED: i64 = 10_000;

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

    /// `counted` is a count that stopped at `COUNTED + 1`.
    pub fn counted(counted: i64) -> Self {
        Self { count: counted.min(COUNTED), capped: counted > COUNTED }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Listed<T> {
    pub rows: Vec<T>,
    pub total: Total,
}
