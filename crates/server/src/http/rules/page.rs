//! `limit` and `offset`, and the response for a page of a list.

use greenroom_api_types::envelope::{List, Pagination};
use greenroom_app::failure::Failure;
use greenroom_store::page::{Page, PageResult};
use serde::Deserialize;
use utoipa::IntoParams;

const DEFAULT_LIMIT: i64 = 20;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// The number of records to return.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
    /// The number of records to skip. A page past the end is an empty list.
    #[param(minimum = 0, default = 0)]
    offset: Option<i64>,
}

impl PageQuery {
    pub fn page(&self) -> Result<Page, Failure> {
        page(self.limit, self.offset)
    }
}

/// Rejects values out of range instead of clamping them: a client that requested 500 and got 100 would take
/// them for all.
pub fn page(limit: Option<i64>, offset: Option<i64>) -> Result<Page, Failure> {
    let (limit, offset) = (limit.unwrap_or(DEFAULT_LIMIT), offset.unwrap_or(0));
    if !(1..=100).contains(&limit) {
        return Err(Failure::field("limit", "must be between 1 and 100"));
    }
    if offset < 0 {
        return Err(Failure::field("offset", "must be 0 or more"));
    }
    Ok(Page { limit, offset })
}

pub fn list<T, W: From<T>>(page: Page, result: PageResult<T>) -> List<W> {
    list_with(page, result, W::from)
}

pub fn list_with<T, W>(page: Page, result: PageResult<T>, wire: impl FnMut(T) -> W) -> List<W> {
    List {
        data: result.rows.into_iter().map(wire).collect(),
        pagination: Pagination {
            limit: page.limit,
            offset: page.offset,
            total: result.total.count,
            total_capped: result.total.capped,
        },
    }
}
