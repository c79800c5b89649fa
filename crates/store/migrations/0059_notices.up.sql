-- Until when a member has read the notices about sessions that others ended; null if never.
alter table memberships add column notices_read_at timestamptz;

-- The sessions of a person that can have a notice: those that waited, and those that were taken over by force. A plain claim
-- and its release don't maintain this index, and no session that ends changes its columns, except by force.
create index sessions_of_person on sessions (organization_id, user_id, id)
    where user_kind = 'user' and (queued_at is not null or override_session_id is not null);
