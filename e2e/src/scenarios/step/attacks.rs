//! The actions of attackers: many tokens of one person, connections that stay open, and addresses in the operator's network.

use serde::Deserialize;

use super::ExpectedResponse;

step_struct!(
    /// Creates further tokens of a person, by that person. They are used by the name `NAME-NUMBER`.
    Tokens { tokens: String, count: usize, answer: Option<ExpectedResponse> }
);

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Occupied {
    /// Requests whose body never comes.
    Bodies,
    /// Streams of events.
    Streams,
}

step_struct!(
    /// Opens connections with the tokens of a person in turn, and keeps them open until the end of the scenario.
    Occupy {
        occupy: Occupied,
        by: String,
        /// How many of the tokens; all if omitted.
        tokens: Option<usize>,
        connections: usize,
    }
);

step_struct!(
    /// Creates a step registry.
    CreateRegistry {
        create_registry: String,
        #[serde(rename = "as")]
        name: String,
        by: Option<String>,
        answer: Option<ExpectedResponse>,
    }
);
