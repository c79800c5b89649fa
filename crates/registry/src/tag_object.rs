//! The object of an annotated tag. Pure.

use crate::object_id::ObjectId;

pub(crate) const MAX_TAG_OBJECT_BYTES: u64 = 64 * 1024;
const SSH_SIGNATURE: &[u8] = b"-----BEGIN SSH SIGNATURE-----";
const OTHER_SIGNATURES: [&[u8]; 3] =
    [b"-----BEGIN PGP SIGNATURE-----", b"-----BEGIN PGP MESSAGE-----", b"-----BEGIN SIGNED MESSAGE-----"];

/// What a tag object states about itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TagObject<'a> {
    pub(crate) object: ObjectId,
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
    pub(crate) signature: TagSignature<'a>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TagSignature<'a> {
    None,
    Ssh {
        /// What is signed: all that comes before the signature.
        payload: &'a [u8],
        armored: &'a [u8],
    },
    /// Of another kind, such as PGP.
    Other,
}

impl<'a> TagObject<'a> {
    /// Parses the headers `object`, `type` and `tag`, which come first and in this order. As in git, a signature begins
    /// at the last line that looks like the beginning of one.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let mut header = |name: &str| -> Option<&'a str> {
            std::str::from_utf8(lines.next()?).ok()?.strip_prefix(name)?.strip_prefix(' ')
        };
        let object = header("object")?.parse().ok()?;
        let (kind, name) = (header("type")?, header("tag")?);
        Some(Self { object, kind, name, signature: find_signature(bytes) })
    }
}

fn find_signature(bytes: &[u8]) -> TagSignature<'_> {
    let (mut start, mut found) = (0, TagSignature::None);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(SSH_SIGNATURE) {
            let (payload, armored) = bytes.split_at(start);
            found = TagSignature::Ssh { payload, armored };
        } else if OTHER_SIGNATURES.iter().any(|begin| line.starts_with(begin)) {
            found = TagSignature::Other;
        }
        start += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "object aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\ntype commit\ntag x/v1.0.0\ntagger A <a@b> 1 +0000\n\n";

    #[test]
    fn headers_and_signature_are_found() {
        let text = format!("{HEAD}text\n-----BEGIN SSH SIGNATURE-----\nabc\n-----END SSH SIGNATURE-----\n");
        let tag = TagObject::parse(text.as_bytes()).unwrap();
        assert_eq!((tag.kind, tag.name), ("commit", "x/v1.0.0"));
        let TagSignature::Ssh { payload, armored } = tag.signature else { panic!("no signature") };
        assert_eq!(payload, format!("{HEAD}text\n").as_bytes());
        assert!(armored.starts_with(SSH_SIGNATURE));
        assert_eq!(TagObject::parse(HEAD.as_bytes()).unwrap().signature, TagSignature::None);
        let pgp = format!("{text}-----BEGIN PGP SIGNATURE-----\n");
        assert_eq!(TagObject::parse(pgp.as_bytes()).unwrap().signature, TagSignature::Other);
    }

    #[test]
    fn other_headers_are_rejected() {
        for text in ["", "object x\ntype commit\ntag y\n", &HEAD[5..], &HEAD.replace("type", "tag")] {
            assert_eq!(TagObject::parse(text.as_bytes()), None, "{text}");
        }
    }
}
