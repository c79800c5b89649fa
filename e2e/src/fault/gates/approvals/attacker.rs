//! Attempts of people and programs that are behind a deployment to approve it, each in several ways.

use super::board::OpenApproval;
use super::client::Client;
use super::fixture::Starter;
use super::history::{Act, Attack, Attacker};

/// Attackers work concurrently, so that they come while approvals are open.
pub(crate) const ATTACKERS: usize = 4;
const OWN: &str = "approval_own";
const NEEDS_PERSON: &str = "approval_needs_person";
const NOT_YOURS: &str = "approval_not_yours";

impl Starter {
    /// Returns the ways in which this person attempts to approve. Both groups of the rules have the person as a member.
    pub(crate) fn ways(&self, way: &'static str) -> Vec<Attacker> {
        let attacker = |way, token: &String, expected, is_always| Attacker {
            way,
            token: token.clone(),
            expected,
            is_always,
        };
        vec![
            attacker(way, &self.person.token, OWN, false),
            attacker("with a second token", &self.second_token, OWN, false),
            attacker("with a token of kind ci", &self.ci_token, NEEDS_PERSON, true),
            attacker("with a token of kind agent", &self.agent_token, NEEDS_PERSON, true),
        ]
    }
}

impl Client {
    /// Attacks one in [`ATTACKERS`] approvals as soon as it is open, until the board is closed.
    pub(crate) async fn run_attacker(mut self, number: usize) {
        let fixture = &self.shared.fixture;
        let of_all = [
            Attacker {
                way: "by a service account",
                token: fixture.service_token.clone(),
                expected: NEEDS_PERSON,
                is_always: true,
            },
            Attacker {
                way: "by a person whom no rule names",
                token: fixture.outsider.token.clone(),
                expected: NOT_YOURS,
                is_always: false,
            },
        ];
        let mut position = 0;
        while !self.shared.board.is_closed() {
            let new = self.shared.board.since(position);
            let first = position;
            position += new.len();
            for (_, approval) in (first..).zip(&new).filter(|(index, _)| index % ATTACKERS == number) {
                let behind = self.shared.history().behind.get(&approval.deployment).cloned();
                for attacker in behind.iter().flatten().chain(&of_all) {
                    self.attack(attacker, approval).await;
                }
            }
            if new.is_empty() {
                self.pause(10, 30).await;
            }
        }
    }

    pub(crate) async fn attack(&mut self, attacker: &Attacker, approval: &OpenApproval) {
        let Attacker { way, token, expected, is_always } = attacker.clone();
        let response = self.vote(&token, approval, Act::Approve, &approval.digest).await;
        let attack = Attack { approval: approval.id, way, expected, is_always, response };
        self.shared.history().attacks.push(attack);
    }
}
