//! Query parameters with several values.

use greenroom_server::internals::several;
use serde::Deserialize;

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    Blue,
}

#[derive(Debug, Deserialize)]
struct Parameters {
    #[serde(default, deserialize_with = "several")]
    color: Option<Vec<Color>>,
}

fn colors(query: &str) -> Result<Option<Vec<Color>>, String> {
    let parsed: Result<Parameters, _> = serde_urlencoded::from_str(query);
    parsed.map(|parameters| parameters.color).map_err(|error| error.to_string())
}

#[test]
fn values_are_separated_by_commas() {
    assert_eq!(colors(""), Ok(None));
    assert_eq!(colors("color=red"), Ok(Some(vec![Color::Red])));
    assert_eq!(colors("color=red,blue"), Ok(Some(vec![Color::Red, Color::Blue])));
    assert_eq!(colors("color=red%2Cblue"), Ok(Some(vec![Color::Red, Color::Blue])));
    for wrong in ["color=", "color=red,", "color=green", "color=red,green", "color=red, blue"] {
        assert!(colors(wrong).unwrap_err().contains("expected `red` or `blue`"), "{wrong}");
    }
}
