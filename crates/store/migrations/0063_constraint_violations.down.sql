drop function constraint_violations();
