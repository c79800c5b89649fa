-- Lists show for each deployment whether it left a lasting environment out because it had no branch. Few have, and the others must
-- cost nothing.
create index stages_branch_unknown on stages (organization_id, deployment_id) where reason = 'branch_unknown';
