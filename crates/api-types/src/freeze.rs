//! Freezes: times at which no stage begins in lasting environments.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// A freeze. While it is active, no stage begins in the lasting environments that it covers. What runs goes on.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Freeze {
    #[schema(example = "frz_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    #[schema(example = "Weekends")]
    pub name: String,
    /// Shown to everyone whose deployment waits.
    #[schema(example = "Nobody is on call")]
    pub reason: String,
    /// Ids of the pipelines that it covers; empty: all.
    pub pipelines: Vec<String>,
    /// Names of the lasting environments that it covers; empty: all.
    pub environments: Vec<String>,
    /// When it begins, unless it is weekly.
    pub from: Option<Timestamp>,
    /// When it ends, unless it is weekly.
    pub to: Option<Timestamp>,
    /// Windows that repeat every week; empty if it has `from` and `to`.
    pub weekly: Vec<FreezeWindow>,
    /// The time zone of the weekly windows.
    #[schema(example = "Europe/Berlin")]
    pub zone: Option<String>,
    /// Whether it holds now.
    pub active: bool,
    /// When it ceases to hold, if it is active. Windows without a pause between them count as one.
    pub until: Option<Timestamp>,
    /// When it holds next; while it is active, after `until`. Null if it never does again.
    pub next_from: Option<Timestamp>,
    /// When that ends.
    pub next_until: Option<Timestamp>,
    pub created_at: Timestamp,
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub created_by: String,
    pub updated_at: Timestamp,
    /// Set if the freeze was deleted. It holds no more.
    pub ended_at: Option<Timestamp>,
}

/// A weekly window by the wall clock: a day (`mon` to `sun`) and a time of day. It ends at the first `to` after
/// `from`, which may be in the following week. An hour that the clock skips counts at its end; of one that it
/// shows twice, both are covered.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FreezeWindow {
    #[schema(
        example = "fri 16:00",
        pattern = "^(mon|tue|wed|thu|fri|sat|sun) ([01][0-9]|2[0-3]):[0-5][0-9]$"
    )]
    pub from: String,
    #[schema(
        example = "mon 08:00",
        pattern = "^(mon|tue|wed|thu|fri|sat|sun) ([01][0-9]|2[0-3]):[0-5][0-9]$"
    )]
    pub to: String,
}

/// A new freeze. It has either `from` and `to`, or `weekly` and `zone`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateFreeze {
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// Shown to everyone whose deployment waits.
    #[schema(min_length = 1, max_length = 500)]
    pub reason: String,
    /// Ids of pipelines; all if left out or empty.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub pipelines: Vec<String>,
    /// Names of lasting environments; all if left out or empty.
    #[serde(default)]
    #[schema(max_items = 100)]
    pub environments: Vec<String>,
    /// From the year 2000 on. It may be in the past.
    pub from: Option<Timestamp>,
    /// Later than `from`, and before the year 2200.
    pub to: Option<Timestamp>,
    /// At most 50 windows, which together leave a pause in every week.
    #[serde(default)]
    #[schema(max_items = 50)]
    pub weekly: Vec<FreezeWindow>,
    /// The IANA name of a time zone.
    #[schema(example = "Europe/Berlin")]
    pub zone: Option<String>,
}

/// Changes to a freeze. Fields that are left out stay unchanged.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateFreeze {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 100)]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 500)]
    pub reason: Option<String>,
    /// Replaces the list; empty: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 100)]
    pub pipelines: Option<Vec<String>>,
    /// Replaces the list; empty: all lasting environments.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 100)]
    pub environments: Option<Vec<String>>,
    /// `null` removes it, for a freeze that becomes weekly.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Timestamp>)]
    pub from: Option<Option<Timestamp>>,
    /// `null` removes it, for a freeze that becomes weekly.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Timestamp>)]
    pub to: Option<Option<Timestamp>>,
    /// Replaces all windows. An empty list, for a freeze that is no longer weekly.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 50)]
    pub weekly: Option<Vec<FreezeWindow>>,
    /// `null` removes it, for a freeze that is no longer weekly.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub zone: Option<Option<String>>,
}

/// Distinguishes a field that is `null` from one that is left out.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
