alter table caches drop column pool_id;
alter table caches drop column stage_key;
update jobs set reason = 'pool_restricted' where reason = 'input_refused';
update stages set reason = 'pool_restricted' where reason = 'input_refused';
update deployments set reason = 'pool_restricted' where reason = 'input_refused';
create or replace function is_deployment_reason(reason text) returns boolean
    language plpgsql immutable strict parallel safe as $$
begin
    return reason = any ('{step_failed, timed_out, runner_lost, no_runner, runner_error, commit_not_found, commit_not_on_branch,
        repository_unavailable, checkout_host_not_allowed, image_not_found, pool_restricted, secret_missing, secret_denied, deploy_denied,
        unsupported, step_refused, step_digest_mismatch, invalid_definition, condition_limit, canceled_by_user, session_ended,
        pipeline_stopped, abandoned, given_up, condition_false, only_ephemeral, upstream_failed, upstream_skipped, deployment_canceled,
        outdated, gate_closed, approval_rejected, approval_expired, approval_lapsed, newer_deployment, "a newer deployment"}');
end $$;
