-- A request for hand-over: who asks the holder to let go, and by when it has to answer. Part of the lock, and like the rest of
-- it not indexed. The session is the asker's, in the queue; when it waits no more, the request is void.
alter table environments
    add column handover_session_id uuid,
    add column handover_user_id uuid,
    add column handover_user_name text,
    add column handover_user_kind text,
    add column handover_context text,
    add column handover_requested_at timestamptz,
    add column handover_due_at timestamptz;
