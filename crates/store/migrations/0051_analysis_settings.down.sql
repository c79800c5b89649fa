-- Analyses that a model has not explained have succeeded without one.
update analyses set status = 'succeeded', reason = null, ended_at = coalesce(ended_at, clock_timestamp())
where status = 'analyzing' or reason in ('model_failed', 'budget_exhausted');
drop index analyses_to_explain, analyses_explained;
alter table analyses
    drop constraint analyses_reason_check,
    add constraint analyses_reason_check check (reason in ('evidence_not_collected')),
    drop column with_model,
    drop column leased_until,
    drop column model_host,
    drop column model_name,
    drop column explanation,
    drop column reuse_key,
    drop column reused_from,
    drop column detail;
drop table model_calls, model_budgets, analysis_settings;
