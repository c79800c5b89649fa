drop index events_audit;
create index events_category on events (organization_id, category, sequence);

alter table event_intake add constraint event_intake_category_check check (category in ('audit', 'deployment'));
alter table sessions
    add constraint sessions_organization_id_environment_id_fkey
        foreign key (organization_id, environment_id) references environments,
    add constraint sessions_waiting_check check (waiting = (status = 'queued')),
    add constraint sessions_check check ((status in ('queued', 'active')) = (ended_at is null)),
    add constraint sessions_status_check
        check (status in ('queued', 'active', 'released', 'expired', 'overridden', 'canceled'));
alter table environments
    add constraint environments_check check ((session_id is null) = (expires_at is null)),
    add constraint environments_waiters_check check (waiters >= 0),
    add constraint environments_name_check check (name ~ '^[a-z][a-z0-9-]{0,62}$');
