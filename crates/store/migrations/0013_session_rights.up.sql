-- A session remembers the token that it was claimed or queued with, so that a grant from the queue can check it. Null for
-- sessions from before, and for those that were given by a transfer.
alter table sessions
    add column token_id uuid,
    -- The holder's answer to this session's request for hand-over.
    add column handover_declined_by uuid,
    add column handover_declined_by_name text,
    add column handover_declined_at timestamptz,
    add column handover_declined_context text;
-- How many places a user has taken is counted over all environments.
create index sessions_waiting_of_user on sessions (organization_id, user_id) where waiting;

alter table environments
    -- The token that a hand-over was requested with, and whether silence accepts the request.
    add column handover_token_id uuid,
    add column handover_accepts boolean,
    -- From the definition: default and minimum of a request's grace time, and whether a force claim has to give a reason.
    add column handover_grace_seconds bigint,
    add column force_reason_required boolean not null default false;
