-- What a pipeline keeps from one deployment to the next, in the object store. Never changed, but for when it was last used.
create table caches (
    organization_id uuid not null,
    pipeline_id uuid not null,
    key text not null,
    bytes bigint not null,
    sha256 text not null,
    object text not null,
    created_at timestamptz not null default clock_timestamp(),
    used_at timestamptz not null default clock_timestamp(),
    primary key (organization_id, pipeline_id, key),
    foreign key (organization_id, pipeline_id) references pipelines
) with (fillfactor = 70);

-- Objects that are to go from the object store, which knows no transactions: written with the change after which nothing
-- refers to them, and before one is put there that nothing refers to yet. A name that ends in `/` means all below it.
create table discarded_objects (
    organization_id uuid not null,
    name text not null,
    due_at timestamptz not null,
    primary key (organization_id, name)
);
create index discarded_objects_due on discarded_objects (due_at);
