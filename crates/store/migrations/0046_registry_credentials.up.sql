-- The credential of a private registry, sealed with a data key of the organization. It opens for this registry and this `url` only.
alter table step_registries
    add column credential_key_id uuid,
    add column credential_nonce bytea,
    add column credential_sealed bytea,
    add constraint step_registries_credential
        check (num_nonnulls(credential_key_id, credential_nonce, credential_sealed) in (0, 3)),
    add constraint step_registries_credential_key
        foreign key (organization_id, credential_key_id) references organization_keys;
create index step_registries_of_key on step_registries (organization_id, credential_key_id)
    where credential_key_id is not null;
