//! The attacks: the name of each, its size, and how long its connections wait after a refusal.

use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::fault::overload::scale::Scale;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Attack {
    /// Requests whose bodies arrive byte by byte.
    SlowBodies,
    /// Runners' long polls for a job.
    Polls,
    /// Streams of a step's log that gets no new lines.
    LogStreams,
    /// Downloads of a large log that are never read.
    UnreadDownloads,
    /// Log uploads with forged job tokens whose bodies arrive byte by byte.
    SlowUploads,
    /// Requests with well-formed tokens that do not exist.
    ForgedTokens,
    /// Pipeline definitions with conditions nested as deeply as their length allows.
    NestedConditions,
    /// JSON bodies with 10,000 nested arrays.
    DeepJson,
    /// YAML definitions whose aliases expand to billions of nodes.
    YamlBombs,
    /// Bodies of 256 MiB, compressed with gzip.
    GzipBombs,
    /// Requests without their bodies, by one viewer of the victim's organization with many tokens.
    MemberBodies,
    /// Event streams of the same viewer.
    MemberStreams,
}

/// What the size of an attack counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Connections that are held open at the same time.
    Connections,
    RequestsPerSecond,
}

impl Attack {
    pub(crate) const ALL: [Self; 12] = [
        Self::SlowBodies,
        Self::Polls,
        Self::LogStreams,
        Self::UnreadDownloads,
        Self::SlowUploads,
        Self::ForgedTokens,
        Self::NestedConditions,
        Self::DeepJson,
        Self::YamlBombs,
        Self::GzipBombs,
        Self::MemberBodies,
        Self::MemberStreams,
    ];

    pub(crate) const fn unit(self) -> Unit {
        match self {
            Self::SlowBodies
            | Self::Polls
            | Self::LogStreams
            | Self::UnreadDownloads
            | Self::SlowUploads
            | Self::MemberBodies
            | Self::MemberStreams => Unit::Connections,
            Self::ForgedTokens
            | Self::NestedConditions
            | Self::DeepJson
            | Self::YamlBombs
            | Self::GzipBombs => Unit::RequestsPerSecond,
        }
    }

    pub(crate) const fn size(self, scale: Scale) -> usize {
        let (full, small) = match self {
            Self::SlowBodies => (1_400, 700),
            // The server lets 1,000 requests wait: fewer would not fill it.
            Self::Polls => (1_010, 1_010),
            Self::LogStreams => (3_500, 600),
            Self::UnreadDownloads => (150, 40),
            Self::SlowUploads => (100, 50),
            Self::ForgedTokens => (500, 100),
            Self::NestedConditions | Self::DeepJson | Self::YamlBombs | Self::GzipBombs => (20, 5),
            // As many as six tokens may have, and as many streams as the organization may have. The small sizes are larger
            // than what a person may have.
            Self::MemberBodies => (384, 128),
            Self::MemberStreams => (400, 150),
        };
        match scale {
            Scale::Full => full,
            Scale::Small => small,
        }
    }

    /// Returns whether the response is a stream that stays open.
    pub(crate) const fn is_stream(self) -> bool {
        matches!(self, Self::LogStreams | Self::MemberStreams)
    }

    /// Within this time the connections of an attack are opened: 1,400 a second if all attacks begin together.
    pub(crate) const fn ramp_up_time(scale: Scale) -> Duration {
        match scale {
            Scale::Small => Duration::from_secs(2),
            Scale::Full => Duration::from_secs(5),
        }
    }

    /// How long a refused connection waits before it retries. The mean determines the attempts per second of an
    /// attack that is refused: a fifth of its connections a second, a tenth of the many log streams. The pauses
    /// differ by up to a half, so that the attempts are spread over time and not sent in bursts.
    pub(crate) fn pause_after_refusal(self) -> Duration {
        let mean = match self {
            Self::LogStreams => Duration::from_secs(10),
            _ => Duration::from_secs(5),
        };
        mean.mul_f64(rand::random_range(0.5..1.5))
    }

    /// Returns the name of a phase with this attack alone.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}
