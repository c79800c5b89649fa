//! The `needs` of stages: they have to exist, to run in the same deployment, and to contain no cycles.

use std::collections::HashMap;

use super::Check;
use crate::definition::diagnostic::{Path, quote};
use crate::definition::located::{Entries, Located};
use crate::definition::raw;

#[derive(Clone, Copy, PartialEq)]
enum Visit {
    None,
    Open,
    Done,
}

/// One item of a stage's `needs`.
struct Need<'a> {
    stage: usize,
    index: usize,
    written: &'a Located<String>,
}

struct Search<'a> {
    keys: Vec<&'a str>,
    needs: Vec<Vec<Need<'a>>>,
    visits: Vec<Visit>,
    trail: Vec<usize>,
}

impl Check<'_> {
    pub(super) fn needs(
        &mut self,
        path: Path<'_>,
        stage: &Located<String>,
        needs: &[Located<String>],
    ) -> Vec<String> {
        let (stages, cleaning) = (self.file.stages.as_ref(), self.cleaning);
        // A stage that cleans up may need any stage: needs that are not part of the teardown are ignored.
        let runs_too = |need: &str| cleaning.contains(stage.value.as_str()) || !cleaning.contains(need);
        for (index, need) in needs.iter().enumerate() {
            let exists = stages.is_some_and(|stages| stages.get(&need.value).is_some());
            if exists && !runs_too(&need.value) {
                let message = format!(
                    "stage {} needs {}, but that is an `onRelease` stage: no deployment runs it",
                    quote(&stage.value),
                    quote(&need.value)
                );
                self.report.error(need.at, path.index(index), message);
            }
        }
        let who = format!("stage {} needs", quote(&stage.value));
        self.stage_list(path, needs, &who, |need| need != stage.value && runs_too(need))
    }

    /// A stage gets artifacts and outputs of those that it needs, and caches of any stage with a cache of the same key.
    pub(super) fn accept_from(
        &mut self,
        path: Path<'_>,
        key: &Located<String>,
        stage: &raw::Stage,
    ) -> Vec<String> {
        let accepted = stage.accept_from.as_deref().unwrap_or_default();
        let who = format!("stage {} accepts what is left by", quote(&key.value));
        self.stage_list(path, accepted, &who, |other| other != key.value)
    }

    /// Reports each cycle once, at the need that closes it.
    pub(super) fn check_cycles(&mut self, stages: &Entries<raw::Stage>) {
        let keys: Vec<&str> = stages.keys().collect();
        let places: HashMap<&str, usize> =
            keys.iter().enumerate().map(|(place, key)| (*key, place)).collect();
        let needs = stages.iter().map(|(_, stage)| {
            let needs = stage.value.needs.iter().flatten().enumerate();
            let known = needs.filter_map(|(index, written)| {
                let stage = *places.get(written.value.as_str())?;
                Some(Need { stage, index, written })
            });
            known.collect()
        });
        let visits = vec![Visit::None; keys.len()];
        let mut search = Search { needs: needs.collect(), keys, visits, trail: Vec::new() };
        for stage in 0..search.keys.len() {
            self.follow(&mut search, stage);
        }
    }

    /// Depth-first search. The depth is limited by the number of stages.
    fn follow(&mut self, search: &mut Search<'_>, stage: usize) {
        if search.visits.get(stage) != Some(&Visit::None) {
            return;
        }
        search.visits[stage] = Visit::Open;
        search.trail.push(stage);
        for place in 0..search.needs[stage].len() {
            let need = &search.needs[stage][place];
            if search.visits[need.stage] == Visit::Open {
                self.report_cycle(search, stage, need);
            } else {
                let next = need.stage;
                self.follow(search, next);
            }
        }
        search.trail.pop();
        search.visits[stage] = Visit::Done;
    }

    fn report_cycle(&mut self, search: &Search<'_>, stage: usize, need: &Need<'_>) {
        let root = Path::Root;
        let (stages, key) = (root.key("stages"), search.keys[stage]);
        let stage_path = stages.key(key);
        let list = stage_path.key("needs");
        let message = if need.stage == stage {
            format!("stage {} needs itself", quote(key))
        } else {
            let cycle = search.trail.iter().skip_while(|place| **place != need.stage).chain([&need.stage]);
            let names: Vec<String> = cycle.map(|place| quote(search.keys[*place])).collect();
            format!("stages need each other in a circle: {}", names.join(" → "))
        };
        self.report.error(need.written.at, list.index(need.index), message);
    }
}
