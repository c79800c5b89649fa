-- The model that explains the failures of an organization. An organization without a row has none.
create table analysis_settings (
    organization_id uuid primary key references organizations,
    enabled boolean not null default false,
    protocol text check (protocol in ('openai', 'anthropic')),
    -- Up to the version. The credential is sent there only.
    address text,
    model text,
    -- Sealed with a data key of the organization. It opens for this `address` only.
    credential_key_id uuid,
    credential_nonce bytea,
    credential_sealed bytea,
    -- Null: unlimited. Money is in millionths of the currency of the prices, which are those of a million tokens.
    max_requests_per_day bigint check (max_requests_per_day >= 0),
    max_tokens_per_month bigint check (max_tokens_per_month >= 0),
    max_cost_per_month bigint check (max_cost_per_month >= 0),
    input_price bigint not null default 0 check (input_price >= 0),
    output_price bigint not null default 0 check (output_price >= 0),
    revision bigint not null default 0,
    updated_at timestamptz,
    updated_by uuid,
    foreign key (organization_id, credential_key_id) references organization_keys,
    check ((credential_key_id is null) = (credential_sealed is null) and (credential_nonce is null) = (credential_sealed is null)),
    check (credential_sealed is null or address is not null),
    check (not enabled or protocol is not null and address is not null and model is not null)
);

-- What counts toward the limits: what was used, and what calls have reserved. All in UTC.
create table model_budgets (
    organization_id uuid primary key references organizations,
    -- The day of `requests`.
    day date not null,
    requests bigint not null default 0 check (requests >= 0),
    -- The first day of the month of `tokens` and `cost`.
    month date not null,
    tokens bigint not null default 0 check (tokens >= 0),
    cost bigint not null default 0 check (cost >= 0)
) with (fillfactor = 50);

-- Calls of models. A call is inserted before anything is sent, with the most that it can use. It is deleted with its failure.
create table model_calls (
    organization_id uuid not null,
    id uuid not null,
    failure_id uuid not null,
    analysis_id uuid not null,
    host text not null,
    model text not null,
    -- All that is sent about the failure. It contains text of the log, and is deleted with the log.
    prompt text check (octet_length(prompt) <= 65536),
    prompt_hash text not null,
    prompt_version integer not null,
    input_price bigint not null,
    output_price bigint not null,
    -- What is reserved, and for which day and month.
    reserved_day date not null,
    reserved_month date not null,
    reserved_tokens bigint not null,
    reserved_cost bigint not null,
    reserved_at timestamptz not null default clock_timestamp(),
    -- Null until the call is settled.
    settled_at timestamptz,
    attempts integer,
    input_tokens bigint,
    output_tokens bigint,
    -- Whether a part of the tokens is our upper bound, because the provider has reported nothing.
    is_estimated boolean,
    cost bigint,
    -- Why there is no explanation.
    error text check (octet_length(error) <= 500),
    primary key (organization_id, id),
    foreign key (organization_id, failure_id) references failures on delete cascade
) with (fillfactor = 70);
create index model_calls_of_failure on model_calls (organization_id, failure_id);
create index model_calls_of_analysis on model_calls (organization_id, analysis_id);

-- What a model has concluded.
alter table analyses
    -- Whether a model is to be used. Null: if there is one.
    add column with_model boolean,
    -- While a worker calls the model.
    add column leased_until timestamptz,
    add column model_host text,
    add column model_name text,
    add column explanation jsonb check (octet_length(explanation::text) <= 16384),
    -- Failures with the same fingerprint and the same changes have the same key, for one model.
    add column reuse_key text,
    -- The analysis whose explanation is used again.
    add column reused_from uuid,
    -- Why there is no explanation. It contains no text of the model.
    add column detail text check (octet_length(detail) <= 500),
    drop constraint analyses_reason_check,
    add constraint analyses_reason_check
        check (reason in ('evidence_not_collected', 'model_failed', 'budget_exhausted'));
create index analyses_to_explain on analyses (created_at) where status = 'analyzing';
create index analyses_explained on analyses (organization_id, reuse_key, ended_at)
    where explanation is not null and reused_from is null;
