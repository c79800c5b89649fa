//! The steps of a case: what somebody asks for, and time that passes.
//!
//! The model's time stands still while a step is taken; the database's does not. That must never decide anything, so a
//! lease, a turn and a waiter's silence never end near a moment in which something is asked: all time that passes is a
//! multiple of [`TIME_UNIT`], and every length of time reaches [`MARGIN`] or more beyond such a multiple. A case that
//! takes less real time than that is decided as if it took none.

use greenroom_domain::lease::FIRST_LEASE;
use greenroom_domain::queue::SILENCE;
use proptest::prelude::*;

pub const TIME_UNIT: i64 = 45;
pub const MARGIN: i64 = 15;
pub const DEFAULT_LEASE: i64 = 110;
pub const LONGEST_LEASE: i64 = 290;
/// One is shorter than the first lease of a turn, and they end after one to four units.
const LEASES: [i64; 4] = [65, 20, 110, 155];

/// How long the holder has to answer a request for hand-over. It ends apart from every lease, turn and silence, too.
const GRACES: [i64; 2] = [70, 115];

pub const ENVIRONMENTS: usize = 2;
pub const PEOPLE: usize = 3;

#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Somebody asks for something to be done with an environment.
    At {
        environment: usize,
        act: Act,
    },
    TimePasses {
        units: i64,
    },
    /// Somebody loses the right to hold sessions, or has it again.
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
        way: Way,
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
        way: Way,
    },
    Renew {
        which: Which,
    },
    Hear {
        which: Which,
    },
    Transfer {
        from: Which,
        to: usize,
        lease: Option<i64>,
    },
    /// Requests the hand-over of what is held.
    Request {
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

/// How a plain claim or a release is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Only by the machine.
    Long,
    /// By one statement first, in a transaction of its own.
    AtOnce,
    /// By one statement first, within a command.
    AtOnceInCommand,
}

/// A session, said in a way that means something in every state, so that a case stays one when steps are taken out.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    Holder,
    Waiter(usize),
    /// Any that there has been in the environment, most of which have ended.
    Earlier(usize),
    /// One of the other environment.
    Elsewhere,
    /// One that there never was.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
pub enum By {
    /// The session's own user.
    Own,
    Anybody(usize),
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
    let way = || proptest::sample::select(&[Way::Long, Way::AtOnce, Way::AtOnceInCommand][..]);
    let by = prop_oneof![3 => Just(By::Own), 1 => (0..PEOPLE).prop_map(By::Anybody)];
    prop_oneof![
        4 => (0..PEOPLE, lease(), way()).prop_map(|(user, lease, way)| Act::Claim { user, lease, way }),
        4 => (0..PEOPLE, lease(), any::<bool>())
            .prop_map(|(user, lease, deploys)| Act::Queue { user, lease, deploys }),
        1 => (0..PEOPLE, lease()).prop_map(|(user, lease)| Act::Force { user, lease }),
        4 => (any_session(), by, way()).prop_map(|(which, by, way)| Act::Release { which, by, way }),
        2 => any_session().prop_map(|which| Act::Renew { which }),
        3 => any_session().prop_map(|which| Act::Hear { which }),
        1 => (any_session(), 0..PEOPLE, lease())
            .prop_map(|(from, to, lease)| Act::Transfer { from, to, lease }),
        3 => (any_session(), 0..PEOPLE, proptest::sample::select(&GRACES[..]))
            .prop_map(|(of, user, grace)| Act::Request { of, user, grace }),
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
fn nothing_ends_when_something_is_asked() {
    let ends = [FIRST_LEASE.as_secs(), SILENCE.as_secs(), DEFAULT_LEASE, LONGEST_LEASE];
    for seconds in ends.into_iter().chain(LEASES).chain(GRACES) {
        assert!(seconds % TIME_UNIT >= MARGIN, "{seconds} s ends too close to a step");
    }
}
