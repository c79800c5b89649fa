//! A voter, who votes on every approval that is open. Some votes are withdrawn, changed, sent with another token, or for
//! something that was not read.

use std::sync::Arc;

use rand::RngExt;
use rand::seq::SliceRandom;

use super::board::OpenApproval;
use super::client::Client;
use super::definition::REJECTED;
use super::fixture::Voter;
use super::history::{Act, VoteRequest};

/// A digest of nothing that exists.
const UNREAD: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

impl Client {
    /// Runs until the board is closed.
    pub(crate) async fn run_voter(mut self, number: usize) {
        let voter = self.shared.fixture.voters[number].clone();
        let mut position = 0;
        while !self.shared.board.is_closed() {
            let new = self.shared.board.since(position);
            position += new.len();
            let (rejected, mut new): (Vec<_>, Vec<_>) =
                new.into_iter().partition(|approval| self.rejects(number, approval));
            // Immediately, before others have approved it.
            for approval in &rejected {
                self.vote_on(&voter, number, approval).await;
            }
            if !new.is_empty() {
                // A person reads first.
                self.pause(100, 600).await;
            }
            new.shuffle(&mut self.rng);
            for approval in &new {
                if self.shared.board.is_pending(approval.id) {
                    self.vote_on(&voter, number, approval).await;
                }
            }
            if new.is_empty() && rejected.is_empty() {
                self.pause(20, 80).await;
            }
        }
    }

    /// Returns whether this voter is to reject the approval.
    fn rejects(&self, number: usize, approval: &Arc<OpenApproval>) -> bool {
        let voters = self.shared.fixture.voters.len() as u128;
        approval.stage == REJECTED
            && approval.deployment.as_u128() % voters == number as u128
            && self.shared.board.is_first(approval)
    }

    async fn vote_on(&mut self, voter: &Voter, number: usize, approval: &Arc<OpenApproval>) {
        let (token, digest) = (voter.person.token.clone(), approval.digest.clone());
        if self.rejects(number, approval) {
            self.request(voter, &token, approval, (Act::Reject, &digest)).await;
            return;
        }
        let choice = self.rng.random_range(0..100);
        if choice < 5 {
            self.request(voter, &token, approval, (Act::Approve, UNREAD)).await;
        }
        self.request(voter, &token, approval, (Act::Approve, &digest)).await;
        if let Some(second) = voter.second_token.clone() {
            self.request(voter, &second, approval, (Act::Approve, &digest)).await;
        }
        if (5..25).contains(&choice) {
            self.request(voter, &token, approval, (Act::Withdraw, &digest)).await;
        }
        if (5..15).contains(&choice) {
            self.request(voter, &token, approval, (Act::Approve, &digest)).await;
        }
    }

    async fn request(
        &mut self,
        voter: &Voter,
        token: &str,
        approval: &OpenApproval,
        (act, digest): (Act, &str),
    ) {
        let response = self.vote(token, approval, act, digest).await;
        let request = VoteRequest { approval: approval.id, user: voter.person.user, act, response };
        self.shared.history().votes.push(request);
    }
}
