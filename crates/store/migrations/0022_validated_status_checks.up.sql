-- Validates the checks of the migration before. This reads the tables, and blocks neither readers nor writers.

-- Before deployments had a `detail`, the reason of one that ended with its session was a sentence.
update deployments set detail = coalesce(detail, reason), reason = 'session_ended'
where status = 'canceled' and reason like 'its session was %';

alter table deployments
    validate constraint deployments_trigger_check,
    validate constraint deployments_reason_check,
    validate constraint deployments_cancel_reason_check;
alter table stages
    validate constraint stages_status_check,
    validate constraint stages_reason_check,
    validate constraint stages_verdict_check,
    validate constraint stages_verdict_reason_check;
alter table jobs
    validate constraint jobs_status_check,
    validate constraint jobs_reason_check,
    validate constraint jobs_cancel_reason_check;
alter table step_runs
    validate constraint step_runs_status_check;
