use super::*;

type Slot = WorkSlot<u8, char>;

/// The deployment of an event that creates one. It is newer than all others.
const NEW: u8 = 9;

fn queued(deployment: u8, session: char, is_teardown: bool) -> Queued<u8, char> {
    Queued { deployment, session, is_teardown }
}

/// All slots of an environment with up to three queued deployments of two sessions. The holder is none, one of
/// the queued ones, or one that has started.
fn all_slots() -> Vec<Slot> {
    const STARTED: u8 = 0;
    let mut lists = vec![Vec::new()];
    for deployment in 1..=3 {
        for list in lists.clone() {
            for (session, is_teardown) in [('a', false), ('a', true), ('b', false), ('b', true)] {
                let mut list: Vec<_> = list.clone();
                list.push(queued(deployment, session, is_teardown));
                lists.push(list);
            }
        }
    }
    let holders = |list: &Vec<Queued<u8, char>>| {
        let queued = list.iter().map(|queued| Some(queued.deployment));
        [None, Some(STARTED)].into_iter().chain(queued).collect::<Vec<_>>()
    };
    lists
        .into_iter()
        .flat_map(|list| {
            holders(&list).into_iter().map(move |holder| WorkSlot { holder, queued: list.clone() })
        })
        .collect()
}

/// A free slot is taken. A deployment that holds it keeps it.
fn taken_if_free(slot: &Slot, deployment: u8) -> Effects<u8> {
    Effects { superseded: Vec::new(), assigned: slot.holder.is_none().then_some(deployment) }
}

#[test]
fn a_request_takes_a_free_slot_and_supersedes_what_waits_of_its_session() {
    for slot in all_slots() {
        let new = queued(NEW, 'a', false);
        let (after, effects) = apply(slot.clone(), Event::Requested { deployment: NEW, session: 'a' });
        let superseded: Vec<u8> = slot
            .queued
            .iter()
            .filter(|queued| queued.session == 'a' && !queued.is_teardown)
            .map(|queued| queued.deployment)
            .filter(|deployment| slot.holder != Some(*deployment))
            .collect();
        let mut rest = slot.queued.clone();
        rest.retain(|queued| !superseded.contains(&queued.deployment));
        rest.push(new);
        assert_eq!(effects, Effects { superseded, ..taken_if_free(&slot, NEW) }, "{slot:?}");
        assert_eq!(after, WorkSlot { holder: slot.holder.or(Some(NEW)), queued: rest }, "{slot:?}");
        // The same with the new deployment already stored.
        let stored = WorkSlot { queued: slot.queued.iter().copied().chain([new]).collect(), ..slot };
        assert_eq!(apply(stored, Event::Requested { deployment: NEW, session: 'a' }), (after, effects));
    }
}

#[test]
fn a_teardown_and_a_retry_take_a_free_slot_and_supersede_nothing() {
    for slot in all_slots() {
        let holder = slot.holder.or(Some(NEW));
        let queued = slot.queued.iter().copied().chain([queued(NEW, 'a', true)]).collect();
        assert_eq!(
            apply(slot.clone(), Event::TeardownQueued { deployment: NEW, session: 'a' }),
            (WorkSlot { holder, queued }, taken_if_free(&slot, NEW))
        );
        assert_eq!(
            apply(slot.clone(), Event::Continued { deployment: NEW }),
            (WorkSlot { holder, ..slot.clone() }, taken_if_free(&slot, NEW))
        );
    }
}

#[test]
fn the_oldest_teardown_is_next_and_then_the_newest_deployment() {
    for slot in all_slots() {
        for ended in 0..=3 {
            let queued: Vec<_> =
                slot.queued.iter().copied().filter(|queued| queued.deployment != ended).collect();
            let teardown = queued.iter().find(|queued| queued.is_teardown);
            let next = teardown.or(queued.last()).map(|queued| queued.deployment);
            let (holder, assigned) =
                if slot.holder == Some(ended) { (next, next) } else { (slot.holder, None) };
            assert_eq!(
                apply(slot.clone(), Event::Ended { deployment: ended }),
                (WorkSlot { holder, queued }, Effects { superseded: Vec::new(), assigned }),
                "{slot:?} {ended}"
            );
        }
    }
}

#[test]
fn the_slot_passes_through_the_teardown_to_the_next_session() {
    let events = [
        (Event::Requested { deployment: 1, session: 'a' }, Some(1)),
        (Event::TeardownQueued { deployment: 2, session: 'a' }, Some(1)),
        (Event::Requested { deployment: 3, session: 'b' }, Some(1)),
        (Event::Ended { deployment: 1 }, Some(2)),
        (Event::Requested { deployment: 4, session: 'b' }, Some(2)),
        (Event::Ended { deployment: 2 }, Some(4)),
        (Event::Ended { deployment: 4 }, None),
    ];
    let mut slot = Slot { holder: None, queued: Vec::new() };
    for (event, holder) in events {
        (slot, _) = apply(slot, event);
        assert_eq!(slot.holder, holder, "{event:?}");
    }
    assert_eq!(slot.queued, []);
}
