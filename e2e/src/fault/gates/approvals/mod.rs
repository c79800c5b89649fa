//! The part of the campaign with approvals: many people vote on many gates concurrently, while servers, workers and PostgreSQL
//! are killed, and people who are behind the deployments attempt to approve them.

mod attacker;
mod board;
mod check;
mod client;
mod definition;
mod director;
mod fault_driver;
mod fixture;
mod history;
mod ledger;
mod report;
mod voter;

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::Context;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use tokio::task::JoinSet;
use uuid::Uuid;

use self::attacker::ATTACKERS;
use self::board::Board;
use self::check::ApprovalEvidence;
use self::client::{ApprovalShared, Client};
use self::definition::{CONCURRENT_GATES, DefinitionSettings, approvals_per_group};
use self::fault_driver::{FAULTS, FaultsDuringVotes, InjectedFaults};
use self::fixture::ApprovalFixture;
use self::history::ApprovalHistory;
use self::ledger::ApprovalLedger;
pub(crate) use self::report::ApprovalReport;
use crate::fault::deployments::client::http::Http;
use crate::fault::deployments::faults::Fault;
use crate::fault::deployments::inject::Injector;
use crate::fault::deployments::organization::Organization;
use crate::fault::deployments::stack::Stack;
use crate::fault::fault_schedule::fault_schedule;
use crate::fault::finding::Finding;
use crate::fault::gates::options::Gates;
use crate::parts::output::print_progress;

/// The page size of the API.
const PAGE: usize = 100;
/// How many approvals a pipeline with all gates gets at least, with the retries of its stages.
const APPROVALS_PER_PIPELINE: u64 = 8;

/// The part of the campaign after it has run.
pub(crate) struct Votes {
    shared: Arc<ApprovalShared>,
    injected: InjectedFaults,
    requested_faults: u64,
}

/// What was judged.
pub(crate) struct JudgedVotes {
    pub(crate) report: ApprovalReport,
    pub(crate) findings: Vec<Finding>,
    /// The evidence, for the analysis of a finding.
    pub(crate) evidence: String,
}

impl Votes {
    /// Runs this part. Afterwards all of its deployments have ended or are canceled.
    pub(crate) async fn run(
        stack: &mut Stack,
        organization: &Organization,
        options: &Gates,
        (journal, mark): (&Path, &str),
        injector: &mut Injector,
    ) -> anyhow::Result<Self> {
        print_progress("creating voters and pipelines with gates");
        let journal = journal.to_str().context("the path of the journal is not UTF-8")?.to_owned();
        let count = approvals_per_group(options.voters);
        let definitions = DefinitionSettings { journal, mark: mark.to_owned(), count };
        let pipelines = usize::try_from(options.approvals)?.saturating_sub(2).div_ceil(CONCURRENT_GATES);
        let voters = usize::try_from(options.voters)?;
        let fixture = ApprovalFixture::make(stack, organization, definitions, (pipelines, voters)).await?;
        let shared = Arc::new(ApprovalShared {
            fixture,
            http: Http::new(stack.base_urls())?,
            board: Board::default(),
            history: Mutex::default(),
        });
        let owner = &organization.owner.token;
        let (mut voting, directors) = (JoinSet::new(), Arc::new(AtomicUsize::new(pipelines + 2)));
        let seed: u64 = injector.rng.random();
        let client = |name: String, number: usize| {
            let rng = StdRng::seed_from_u64(seed.wrapping_add(number as u64));
            Client::new(name, &shared, rng)
        };
        print_progress(&format!("{voters} people vote on the gates of {} deployments", pipelines + 2));
        voting.spawn(client("reader".to_owned(), 0).run_reader(owner.clone()));
        for number in 0..ATTACKERS {
            voting.spawn(client(format!("attacker-{number}"), 10 + number).run_attacker(number));
        }
        for number in 0..voters {
            voting.spawn(client(format!("voter-{number}"), 1_000 + number).run_voter(number));
        }
        let mut directing = JoinSet::new();
        for number in 0..pipelines + 2 {
            let director = client(format!("director-{number}"), 100_000 + number);
            let (owner, directors) = (owner.clone(), Arc::clone(&directors));
            directing.spawn(async move {
                if number < pipelines {
                    director.run_gates(number, owner).await;
                } else if number == pipelines {
                    director.run_machine(owner).await;
                } else {
                    director.run_session(owner).await;
                }
                directors.fetch_sub(1, Ordering::Relaxed);
            });
        }
        let expected_votes = APPROVALS_PER_PIPELINE * 2 * count * pipelines as u64;
        let driver = FaultsDuringVotes { board: &shared.board, directors: &directors, expected_votes };
        let kinds: Vec<Fault> =
            Fault::named(&options.campaign.only).into_iter().filter(|fault| FAULTS.contains(fault)).collect();
        let schedule = fault_schedule(&kinds, options.approval_faults, &mut injector.rng);
        let injected = driver.run(stack, injector, &schedule).await?;
        while let Some(ended) = directing.join_next().await {
            ended?;
        }
        shared.board.close();
        while let Some(ended) = voting.join_next().await {
            ended?;
        }
        Ok(Self { shared, injected, requested_faults: schedule.len() as u64 })
    }

    /// Judges it, after the campaign has settled.
    pub(crate) async fn judge(
        &self,
        stack: &Stack,
        organization: &Organization,
    ) -> anyhow::Result<JudgedVotes> {
        let ledger = ApprovalLedger::read(stack, organization).await?;
        let history: &ApprovalHistory = &self.shared.history();
        let fixture = &self.shared.fixture;
        let voters: HashMap<Uuid, [bool; 2]> =
            fixture.voters.iter().map(|voter| (voter.person.user, voter.groups)).collect();
        let count = usize::try_from(fixture.definitions.count)?;
        let evidence = ApprovalEvidence { history, ledger: &ledger, voters: &voters, count };
        let findings = check::all(&evidence);
        let report = ApprovalReport::of(history, &ledger, &self.injected, self.requested_faults);
        let evidence = format!("{:#?}\n{:#?}\n{ledger:#?}", history.votes, history.attacks);
        Ok(JudgedVotes { report, findings, evidence })
    }
}

impl Client {
    /// Reads the open approvals again and again, until the board is closed.
    async fn run_reader(mut self, owner: String) {
        while !self.shared.board.is_closed() {
            if let Some(open) = self.read_open(&owner).await {
                self.shared.board.update(&open);
            }
            self.pause(80, 120).await;
        }
    }

    async fn read_open(&mut self, owner: &str) -> Option<Vec<Value>> {
        let mut all = Vec::new();
        loop {
            let path = format!("/approvals?status=pending&limit={PAGE}&offset={}", all.len());
            let Value::Array(page) = self.read(owner, &path).await? else { return None };
            let is_last = page.len() < PAGE;
            all.extend(page);
            if is_last {
                return Some(all);
            }
        }
    }
}
