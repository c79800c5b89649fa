-- Keys that sign id tokens, for the whole installation. A private key is sealed with a master key, which is not in the database.
create table signing_keys (
    id uuid primary key,
    -- The id of the master key that seals it.
    master_key text not null,
    sealed bytea not null,
    -- Modulus and exponent of the public key.
    public jsonb not null,
    created_at timestamptz not null default clock_timestamp(),
    -- It is published from its creation on, signs from `use_from` on, until a newer one does, and is published until
    -- `publish_until`, which is set when a newer one is created.
    use_from timestamptz not null,
    publish_until timestamptz,
    check (publish_until > use_from)
);
-- One key at a time has no successor.
create unique index signing_keys_newest on signing_keys ((true)) where publish_until is null;
