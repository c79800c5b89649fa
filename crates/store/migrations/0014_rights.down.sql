drop table session_endings;
-- An expiry that was assigned stays: to forget it would make a token work longer than its owner was told.
drop trigger api_tokens_default_scopes on api_tokens;
drop function assign_token_scopes();
alter table api_tokens drop constraint api_tokens_scopes;
alter table api_tokens drop column pipelines;
alter table api_tokens drop column scopes;
drop function default_token_scopes(text);
