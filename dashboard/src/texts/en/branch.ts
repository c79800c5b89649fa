// The field for a branch. Loaded with the dialogs that deploy.
export const branch = {
  label: "Branch",
  hint: "Conditions of stages use it, for example to reach production. Without it they see no branch.",
  needsCommit: "Name the commit that is on this branch.",
};
