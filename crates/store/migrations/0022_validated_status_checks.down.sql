-- A constraint can't be invalidated, so each is replaced by the same one that is not valid.
do $$
declare
    validated record;
begin
    for validated in
        select conrelid::regclass as of_table, conname as name, pg_get_constraintdef(oid) as definition
        from pg_constraint
        where conrelid in ('deployments'::regclass, 'stages'::regclass, 'jobs'::regclass, 'step_runs'::regclass)
          and convalidated and conname in (
              'deployments_trigger_check', 'deployments_reason_check', 'deployments_cancel_reason_check', 'stages_status_check',
              'stages_reason_check', 'stages_verdict_check', 'stages_verdict_reason_check', 'jobs_status_check',
              'jobs_reason_check', 'jobs_cancel_reason_check', 'step_runs_status_check')
    loop
        execute format('alter table %s drop constraint %I, add constraint %I %s not valid',
            validated.of_table, validated.name, validated.name, validated.definition);
    end loop;
end $$;
