drop index stages_branch_unknown;
