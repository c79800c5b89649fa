//! Records of approvals as the API returns them.

use greenroom_api_types::approval as wire;
use greenroom_api_types::person::Person;
use greenroom_domain::approval::{Before, Change, Changes, StepChange, Subject, changes};
use greenroom_domain::definition::ApprovalRule;
use greenroom_domain::role::Role;
use greenroom_store::approval::{ApprovalPeople, ApprovalRecord, PreviousSuccess};

pub fn details_view(
    record: ApprovalRecord,
    ApprovalPeople { votes, authors }: ApprovalPeople,
    previous: Option<&PreviousSuccess>,
) -> wire::ApprovalDetails {
    let changes = previous.map(|previous| changes_view(previous, &record));
    let votes = votes.into_iter().map(|vote| wire::ApprovalVote {
        by: Person { id: vote.user_id.to_string(), name: vote.user_name },
        decision: vote.choice.into(),
        comment: vote.comment,
        at: vote.voted_at,
        withdrawn_at: vote.withdrawn_at,
        enrolled_by: vote.enrolled_by.map(|(id, name)| Person { id: id.to_string(), name }),
    });
    let authors = authors.into_iter().map(|(id, name)| Person { id: id.to_string(), name });
    wire::ApprovalDetails {
        votes: votes.collect(),
        authors: authors.collect(),
        changes,
        approval: approval_view(record),
    }
}

fn changes_view(previous: &PreviousSuccess, record: &ApprovalRecord) -> wire::ApprovalChanges {
    let before = Before {
        commit_id: &previous.commit_id,
        definition: &previous.definition_digest,
        stage: previous.definition.stage(&record.stage),
        locked_steps: &previous.definition.locked_steps,
    };
    let Changes { commit, definition, steps } = changes(before, &record.subject);
    let change = |change: Change| wire::ApprovalChange { before: change.before, after: change.after };
    let step = |StepChange { name, before, after }| wire::ApprovalStepChange { name, before, after };
    wire::ApprovalChanges {
        deployment_id: previous.deployment.to_string(),
        at: previous.at,
        commit: commit.map(change),
        definition: definition.map(change),
        steps: steps.into_iter().map(step).collect(),
    }
}

pub fn approval_view(record: ApprovalRecord) -> wire::Approval {
    let requirement = record.requirement;
    wire::Approval {
        id: record.id.to_string(),
        status: record.status.into(),
        pipeline_id: record.pipeline_id.to_string(),
        deployment_id: record.deployment_id.to_string(),
        stage: record.stage,
        environment: record.environment,
        subject: subject(record.subject),
        subject_digest: record.subject_digest,
        rules: requirement.rules.into_iter().map(rule).collect(),
        needed: record.needed,
        have: record.have,
        eligible: record.eligible,
        satisfiable: record.is_satisfiable,
        self_approval: requirement.self_approval,
        message: requirement.message,
        created_at: record.created_at,
        expires_at: record.expires_at,
        decided_at: record.decided_at,
        valid_until: record.valid_until,
        overridden: record.overridden.map(|by| wire::ApprovalOverride {
            by: Person { id: by.by.to_string(), name: by.by_name },
            reason: by.reason,
        }),
    }
}

fn rule(rule: ApprovalRule) -> wire::ApprovalRule {
    wire::ApprovalRule {
        groups: rule.groups,
        roles: rule.roles.into_iter().map(|role: Role| role.to_string()).collect(),
        users: rule.users,
        count: rule.count,
    }
}

fn subject(subject: Subject) -> wire::ApprovalSubject {
    let steps = subject.steps.into_iter().map(|step| wire::ApprovalStep {
        name: step.name,
        image: step.image,
        version: step.locked.as_ref().map(|locked| locked.version.to_string()),
        digest: step.locked.map(|locked| locked.digest.to_string()),
        uses: step.uses,
        unpinned: step.unpinned,
    });
    let needs = subject.needs.into_iter().map(|need| wire::ApprovalNeed {
        stage: need.stage,
        artifact: need.artifact,
        outputs: need.outputs.to_string(),
    });
    let caches =
        subject.caches.into_iter().map(|cache| wire::ApprovalCache { key: cache.key, sha256: cache.sha256 });
    wire::ApprovalSubject {
        definition: subject.definition,
        stage: subject.stage,
        environment: subject.environment,
        commit_id: subject.commit_id,
        branch: subject.branch,
        steps: steps.collect(),
        needs: needs.collect(),
        caches: caches.collect(),
        secrets: subject.secrets.into_iter().collect(),
    }
}
