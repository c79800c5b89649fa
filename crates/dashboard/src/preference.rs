//! What a client already has, and which encoding it prefers. Pure.

use axum::http::header::{ACCEPT_ENCODING, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Brotli,
    Gzip,
    Identity,
}

/// Returns whether `If-None-Match` contains this tag. The comparison is the weak one of RFC 9110.
pub(crate) fn contains_etag(request: &HeaderMap, etag: &str) -> bool {
    items(request, IF_NONE_MATCH).any(|item| item == "*" || without_prefix(item) == without_prefix(etag))
}

/// Removes the prefix of a weak tag.
fn without_prefix(etag: &str) -> &str {
    etag.strip_prefix("W/").unwrap_or(etag)
}

/// Returns the encoding that `Accept-Encoding` prefers. Between equals it is the one that compresses better. `*` does not
/// include the contents without compression: they are preferred only by an entry of their own.
pub(crate) fn preferred(request: &HeaderMap) -> Encoding {
    let compressed = |name| weight(request, name).or_else(|| weight(request, "*")).unwrap_or(0.0);
    let (brotli, gzip) = (compressed("br"), compressed("gzip"));
    let identity = weight(request, "identity").unwrap_or(0.0);
    if brotli > 0.0 && brotli >= gzip && brotli >= identity {
        Encoding::Brotli
    } else if gzip > 0.0 && gzip >= identity {
        Encoding::Gzip
    } else {
        Encoding::Identity
    }
}

/// Returns whether a client without brotli would be sent gzip.
pub fn accepts_gzip(request: &HeaderMap) -> bool {
    let gzip = weight(request, "gzip").or_else(|| weight(request, "*")).unwrap_or(0.0);
    gzip > 0.0 && gzip >= weight(request, "identity").unwrap_or(0.0)
}

/// Returns the weight in an encoding's own entry, from 0 (not acceptable) to 1. One that is not valid counts as 0.
fn weight(request: &HeaderMap, encoding: &str) -> Option<f32> {
    items(request, ACCEPT_ENCODING).find_map(|item| {
        let mut parts = item.split(';').map(str::trim);
        if !parts.next()?.eq_ignore_ascii_case(encoding) {
            return None;
        }
        let Some(weight) = parts.find_map(|part| part.strip_prefix(['q', 'Q'])?.strip_prefix('=')) else {
            return Some(1.0);
        };
        Some(weight.parse::<f32>().ok().filter(|weight| (0.0..=1.0).contains(weight)).unwrap_or(0.0))
    })
}

/// Splits the fields of a header at their commas. A field that is not text has no items.
fn items(request: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let fields = request.get_all(name).into_iter().filter_map(|field| field.to_str().ok());
    fields.flat_map(|field| field.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn request(name: HeaderName, fields: &[&'static str]) -> HeaderMap {
        fields.iter().map(|field| (name.clone(), HeaderValue::from_static(field))).collect()
    }

    fn encoding(fields: &[&'static str]) -> Encoding {
        preferred(&request(ACCEPT_ENCODING, fields))
    }

    #[test]
    fn the_preferred_encoding_is_chosen() {
        for (field, expected) in [
            ("gzip, deflate, br, zstd", Encoding::Brotli),
            ("gzip, deflate", Encoding::Gzip),
            ("BR", Encoding::Brotli),
            ("br;q=0.5, gzip", Encoding::Gzip),
            ("br;q=0.8, gzip;q=0.8", Encoding::Brotli),
            ("br; q=0, gzip; q=0.1", Encoding::Gzip),
            ("br;q=0, *", Encoding::Gzip),
            ("*", Encoding::Brotli),
            ("*;q=0", Encoding::Identity),
            ("identity", Encoding::Identity),
            ("br;q=much", Encoding::Identity),
            ("br;Q=0.5, gzip", Encoding::Gzip),
            ("br;q=NaN, gzip;q=0.1", Encoding::Gzip),
            ("br;q=inf, gzip;q=0.1", Encoding::Gzip),
            ("br;q=1.1, gzip;q=-1", Encoding::Identity),
            ("br, identity", Encoding::Brotli),
            ("br;q=0.5, gzip;q=0.5, identity", Encoding::Identity),
            ("br;q=0.2, gzip;q=0.5, Identity;q=0.4", Encoding::Gzip),
            ("identity;q=0.5, *;q=0.1", Encoding::Identity),
            ("identity;q=0, *", Encoding::Brotli),
            ("brotli", Encoding::Identity),
            ("", Encoding::Identity),
        ] {
            assert_eq!(encoding(&[field]), expected, "{field}");
        }
        assert_eq!(encoding(&[]), Encoding::Identity);
        assert_eq!(encoding(&["br;q=0", "gzip"]), Encoding::Gzip);
    }

    #[test]
    fn gzip_is_accepted_beside_what_is_preferred() {
        let accepts = |field: &'static str| accepts_gzip(&request(ACCEPT_ENCODING, &[field]));
        for field in ["gzip, deflate, br, zstd", "*", "br, gzip;q=0.1", "identity;q=0.5, gzip"] {
            assert!(accepts(field), "{field}");
        }
        for field in ["", "br", "gzip;q=0", "gzip;q=0, *", "gzip;q=0.5, identity"] {
            assert!(!accepts(field), "{field}");
        }
    }

    #[test]
    fn a_tag_is_found_in_a_list_and_by_weak_comparison() {
        for etag in ["\"a1\"", "W/\"a1\""] {
            let contains = |field: &'static str| contains_etag(&request(IF_NONE_MATCH, &[field]), etag);
            for field in ["\"a1\"", "W/\"a1\"", "\"b2\", \"a1\"", "\"b2\",W/\"a1\"", "*"] {
                assert!(contains(field), "{etag} in {field}");
            }
            for field in ["", "a1", "\"a\"", "\"a1", "W/a1", "\"b2\", W/\"c3\""] {
                assert!(!contains(field), "{etag} in {field}");
            }
        }
    }
}
