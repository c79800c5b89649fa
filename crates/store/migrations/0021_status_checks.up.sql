-- Enumerated texts have a check. A constraint that is `not valid` holds for new rows and is added without reading the table; the next
-- migration validates the rows that exist. The tables of the fast path, `environments` and `sessions`, get none (ADR 5).

-- The list is in a function and not in the checks, because PostgreSQL parses the text of a check for every statement that writes to its
-- table. A new reason only replaces the function. The last text is the one that versions before this migration write instead of
-- `newer_deployment`.
create function is_deployment_reason(reason text) returns boolean
    language plpgsql immutable strict parallel safe as $$
begin
    return reason = any ('{step_failed, timed_out, runner_lost, no_runner, runner_error, commit_not_found, commit_not_on_branch,
        repository_unavailable, image_not_found, pool_restricted, unsupported, invalid_definition, condition_limit, canceled_by_user,
        session_ended, pipeline_stopped, abandoned, given_up, condition_false, only_ephemeral, upstream_failed, upstream_skipped,
        deployment_canceled, newer_deployment, "a newer deployment"}');
end $$;

alter table deployments
    add constraint deployments_trigger_check check (trigger = any ('{session, api, teardown}')) not valid,
    add constraint deployments_reason_check check (is_deployment_reason(reason)) not valid,
    add constraint deployments_cancel_reason_check check (is_deployment_reason(cancel_reason)) not valid;
alter table stages
    add constraint stages_status_check
        check (status = any ('{pending, waiting, queued, running, succeeded, failed, errored, canceled, skipped}')) not valid,
    add constraint stages_reason_check check (is_deployment_reason(reason)) not valid,
    add constraint stages_verdict_check
        check (verdict = any ('{succeeded, failed, errored, canceled, skipped}')) not valid,
    add constraint stages_verdict_reason_check check (is_deployment_reason(verdict_reason)) not valid;
alter table jobs
    add constraint jobs_status_check
        check (status = any ('{queued, running, succeeded, failed, errored, canceled}')) not valid,
    add constraint jobs_reason_check check (is_deployment_reason(reason)) not valid,
    add constraint jobs_cancel_reason_check check (is_deployment_reason(cancel_reason)) not valid;
alter table step_runs
    add constraint step_runs_status_check
        check (status = any ('{pending, running, succeeded, failed, errored, canceled, skipped}')) not valid;
