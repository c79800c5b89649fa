-- The link with which the first owner creates the first organization in a browser: the hash of its code, and when it
-- expires. Null: there is none. It is part of the row of the installation, so there is one at most, and the lock of that row
-- lets only one of two concurrent uses succeed.
alter table installation
    add column setup_secret_hash bytea check (octet_length(setup_secret_hash) = 32),
    add column setup_expires_at timestamptz,
    add check ((setup_secret_hash is null) = (setup_expires_at is null));
