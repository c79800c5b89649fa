-- The version before this one sends no credential: private registries become degraded.
alter table step_registries
    drop column credential_key_id,
    drop column credential_nonce,
    drop column credential_sealed;
