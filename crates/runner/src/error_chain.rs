//! Errors in the log, with their sources. The log's JSON format would print the text of the error only.

use std::error::Error;

/// Returns an error and its sources on one line. A source whose text ends the text before it is not repeated.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let own = error.to_string();
        if !text.ends_with(&own) {
            text = format!("{text}: {own}");
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Link {
        text: &'static str,
        source: Option<Box<Link>>,
    }

    #[test]
    fn every_source_appears_once() {
        let cause = Link { text: "refused", source: None };
        let middle = Link { text: "client error", source: Some(Box::new(cause)) };
        let outer = Link { text: "no network: client error", source: Some(Box::new(middle)) };
        assert_eq!(error_chain(&outer), "no network: client error: refused");
    }
}
