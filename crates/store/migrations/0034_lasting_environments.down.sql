update stages set reason = 'upstream_skipped' where reason in ('outdated', 'gate_closed');
update jobs set reason = 'runner_error' where reason in ('outdated', 'gate_closed');
update deployments set reason = 'newer_deployment' where reason in ('outdated', 'gate_closed');
create or replace function is_deployment_reason(reason text) returns boolean
    language plpgsql immutable strict parallel safe as $$
begin
    return reason = any ('{step_failed, timed_out, runner_lost, no_runner, runner_error, commit_not_found, commit_not_on_branch,
        repository_unavailable, checkout_host_not_allowed, image_not_found, pool_restricted, secret_missing, secret_denied, unsupported,
        invalid_definition, condition_limit, canceled_by_user, session_ended, pipeline_stopped, abandoned, given_up, condition_false, only_ephemeral,
        upstream_failed, upstream_skipped, deployment_canceled, newer_deployment, "a newer deployment"}');
end $$;
drop index stages_waiting_in_environment;
alter table stages drop column blocker, drop column environment;
alter table deployments drop column accepted_at, drop column allow_older;
drop table environment_deployments;
drop table lasting_environments;
