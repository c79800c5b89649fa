-- The version before this one has no exchange: its tokens end.
update api_tokens set revoked_at = clock_timestamp() where trust_policy_id is not null and revoked_at is null;

alter table api_tokens
    drop constraint api_tokens_trust_policy,
    drop column trust_policy_id;
drop table exchanged_tokens;
drop table trust_policies;
