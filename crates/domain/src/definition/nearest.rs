//! Suggestions for mistyped names.

/// All valid names are shorter. The cost of the distance is the product of both lengths.
const MAX_LENGTH: usize = 40;

/// Returns the nearest of `choices`, if it is similar enough to be a typing error.
pub fn nearest<'a>(written: &str, choices: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = written.chars().count();
    if length > MAX_LENGTH {
        return None;
    }
    let folded = fold(written);
    choices
        .into_iter()
        .filter(|choice| choice.len() <= MAX_LENGTH)
        .map(|choice| (strsim::osa_distance(&folded, &fold(choice)), choice))
        .filter(|(distance, choice)| {
            is_near(*distance, length.min(choice.chars().count())) && *choice != written
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, choice)| choice)
}

/// A third of the name may be wrong, but not all of it.
fn is_near(distance: usize, length: usize) -> bool {
    distance <= (length / 3).max(1) && distance < length
}

/// Removes differences of style: `on_release` and `OnRelease` become the same as `onRelease`.
fn fold(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn table() {
        let fields = ["image", "run", "uses", "onRelease", "with", "if"];
        for (written, expected) in [
            ("imge", Some("image")),
            ("Image", Some("image")),
            ("on_release", Some("onRelease")),
            ("rnu", Some("run")),
            ("use", Some("uses")),
            ("script", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, fields), expected, "{written}");
        }
        assert_eq!(nearest(&"a".repeat(41), ["a"]), None);
    }
}
