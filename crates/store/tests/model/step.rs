//! The steps of a case: requests, and time that passes.
//!
//! The model's time stands still while a step is executed; the database's does not. This must never affect a
//! result, so no lease, turn or heartbeat timeout ends close to the time of a request. All time that passes
//! is a multiple of [`TIME_UNIT`], and every duration exceeds such a multiple by at least [`MARGIN`]. A case
//! that takes less real time than that has the same results as if it took none.

use greenroom_domain::lease::FIRST_LEASE;
use greenroom_domain::queue::HEARTBEAT_TIMEOUT;
use proptest::prelude::*;

pub const TIME_UNIT: i64 = 45;
pub const MARGIN: i64 = 15;
pub const DEFAULT_LEASE: i64 = 110;
pub const MAX_LEASE: i64 = 290;
/// How long a person keeps a place.
pub const MAX_STAY: i64 = 200;
/// One is shorter than the first lease after a turn. They end after one to four units.
const LEASES: [i64; 4] = [65, 20, 110, 155];

/// Grace times of hand-over requests. They do not end close to any lease, turn or heartbeat timeout either.
const GRACES: [i64; 2] = [70, 115];

pub const ENVIRONMENTS: usize = 2;
pub const PEOPLE: usize = 3;

#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A user's request for an environment.
    At {
        environment: usize,
        act: Act,
    },
    TimePasses {
        units: i64,
    },
    /// A user loses or regains the right to hold sessions.
    Role {
        user: usize,
        demoted: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub enum Act {
    Claim {
        user: usize,
        lease: Option<i64>,
        path: GrantPath,
    },
    Queue {
        user: usize,
        lease: Option<i64>,
        deploys: bool,
    },
    Force {
        user: usize,
        lease: Option<i64>,
    },
    Release {
        which: Which,
        by: By,
        path: GrantPath,
    },
    Renew {
        which: Which,
    },
    Heartbeat {
        which: Which,
    },
    Transfer {
        from: Which,
        to: usize,
        lease: Option<i64>,
    },
    /// Requests the hand-over of a session.
    RequestHandover {
        of: Which,
        user: usize,
        grace: i64,
    },
    Accept {
        which: Which,
    },
    Decline {
        which: Which,
    },
    Sweep,
}

/// The path of a plain claim or a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantPath {
    /// The slow path only.
    Slow,
    /// The fast path first, in its own transaction.
    Fast,
    /// The fast path first, within a command.
    FastInCommand,
}

/// A reference to a session that is meaningful in every state, so that a case stays valid when shrinking
/// removes steps.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    Holder,
    Waiter(usize),
    /// Any earlier session of the environment, most of which have ended.
    Earlier(usize),
    /// A session of the other environment.
    Elsewhere,
    /// A session that never existed.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
pub enum By {
    /// The session's user.
    Own,
    User(usize),
}

pub fn any_step() -> BoxedStrategy<Step> {
    let units = prop_oneof![6 => Just(1_i64), 3 => Just(2), 1 => 3..=7_i64];
    prop_oneof![
        40 => (0..ENVIRONMENTS, any_act()).prop_map(|(environment, act)| Step::At { environment, act }),
        8 => units.prop_map(|units| Step::TimePasses { units }),
        3 => (0..PEOPLE, any::<bool>()).prop_map(|(user, demoted)| Step::Role { user, demoted }),
    ]
    .boxed()
}

fn any_act() -> impl Strategy<Value = Act> {
    let lease = || prop_oneof![Just(None), proptest::sample::select(&LEASES[..]).prop_map(Some)];
    let path = || proptest::sample::select(&[GrantPath::Slow, GrantPath::Fast, GrantPath::FastInCommand][..]);
    let by = prop_oneof![3 => Just(By::Own), 1 => (0..PEOPLE).prop_map(By::User)];
    prop_oneof![
        4 => (0..PEOPLE, lease(), path()).prop_map(|(user, lease, path)| Act::Claim { user, lease, path }),
        4 => (0..PEOPLE, lease(), any::<bool>())
            .prop_map(|(user, lease, deploys)| Act::Queue { user, lease, deploys }),
        1 => (0..PEOPLE, lease()).prop_map(|(user, lease)| Act::Force { user, lease }),
        4 => (any_session(), by, path()).prop_map(|(which, by, path)| Act::Release { which, by, path }),
        2 => any_session().prop_map(|which| Act::Renew { which }),
        3 => any_session().prop_map(|which| Act::Heartbeat { which }),
        1 => (any_session(), 0..PEOPLE, lease())
            .prop_map(|(from, to, lease)| Act::Transfer { from, to, lease }),
        3 => (any_session(), 0..PEOPLE, proptest::sample::select(&GRACES[..]))
            .prop_map(|(of, user, grace)| Act::RequestHandover { of, user, grace }),
        1 => any_session().prop_map(|which| Act::Accept { which }),
        1 => any_session().prop_map(|which| Act::Decline { which }),
        2 => Just(Act::Sweep),
    ]
}

fn any_session() -> impl Strategy<Value = Which> {
    prop_oneof![
        8 => Just(Which::Holder),
        4 => (0..4_usize).prop_map(Which::Waiter),
        2 => (0..8_usize).prop_map(Which::Earlier),
        1 => Just(Which::Elsewhere),
        1 => Just(Which::Unknown),
    ]
}

#[test]
fn no_duration_ends_close_to_a_step() {
    let ends = [FIRST_LEASE.as_secs(), HEARTBEAT_TIMEOUT.as_secs(), DEFAULT_LEASE, MAX_LEASE, MAX_STAY];
    for seconds in ends.into_iter().chain(LEASES).chain(GRACES) {
        assert!(seconds % TIME_UNIT >= MARGIN, "{seconds} s ends too close to a step");
    }
}
