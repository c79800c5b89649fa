alter table installation
    drop column setup_secret_hash,
    drop column setup_expires_at;
