//! The tables of `cargo xtask check-words`: words that comments and texts must not use, and names that were
//! replaced. The field's own word is always preferred: returns, sends, records, retries, rejects, polls,
//! request, response, timeout, credentials, heartbeat, fixture, fast path.

/// Phrases in comments, log texts, error texts and `--help`. Case does not matter, and `/` separates
/// alternatives.
pub(super) const PHRASES: &[&str] = &[
    // Personified programs. Programs return, send, store, reject.
    "tell/tells/told/telling",
    "hear/hears/heard",
    "ask/asks/asked",
    "say/says/said",
    "know/knows/knew",
    "comes of it",
    "gives/give back what",
    "have/has/had/having a word",
    "last words",
    // Indefinite persons. Name the caller, the user or the process.
    "nobody",
    "somebody",
    "anybody",
    "whoever",
    "whomever",
    // Metaphors with a plain equivalent.
    "anew",
    "patience",
    "insist/insists/insisted",
    "farewell",
    "chore/chores",
    "lament/laments",
    "former life",
    "keep/keeps house",
    "at once",
    "news",
    "short/long way",
    "looks/look again",
    "is/are good for",
    "goes/go by the",
    "stands/stand for",
];

/// Identifiers that were replaced, in exactly this spelling.
#[rustfmt::skip]
pub(super) const OLD_NAMES: &[&str] = &[
    "JobWord", "UnknownWord", "AskedStore", "Asked", "Asker", "Asking", "Ask", "Having", "Advances",
    "Texts", "How", "AtOnce", "at_once", "change_by_clock", "within_patience", "vigil", "attendance",
    "ends_well", "Lent", "Facts", "Scene", "Doing", "Surroundings", "Circumstances", "Answered",
    "Flight", "Shown", "engine_heard", "AliveFile", "Pretense", "Contained", "Signs", "Standing",
    "Unanswered", "Trouble", "Chore", "lament", "Yard", "World", "Saying", "misfortunes", "EVERY",
    "LONGEST", "LARGEST", "MOST", "LOOKS", "SHARE", "AT_A_TIME", "AFTER_NOTHING", "FAREWELL", "Attendant",
    "Presence", "Site", "Ground", "Word", "tell", "deck", "chapter", "lane", "flight",
];

/// Parts of identifiers, such as names of tests, separated by `_`. Case does not matter.
#[rustfmt::skip]
pub(super) const OLD_NAME_PARTS: &[&str] = &[
    "told", "tells", "hears", "asked", "said", "says", "anew", "patience", "insist", "insists", "nobody",
    "somebody", "whoever", "farewell",
];

/// Accepted uses. `path` is a file, or a beginning of paths that ends in `*`; `pattern` is an entry of a
/// table above.
pub(super) struct Exception {
    pub(super) path: &'static str,
    pub(super) pattern: &'static str,
    /// Why the use is right, for readers of this table.
    pub(super) reason: &'static str,
}

pub(super) const MAX_EXCEPTIONS: usize = 20;

pub(super) const EXCEPTIONS: &[Exception] = &[Exception {
    path: "crates/server/src/http/handover.rs",
    pattern: "ask/asks/asked",
    reason: "a person in the queue asks the holder, who is a person too, for a hand-over",
}];
