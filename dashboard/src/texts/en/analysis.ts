// Feedback about the analysis of a failure.
export const feedback = {
  question: "Was this helpful?",
  yes: "Yes",
  no: "No",
  comment: "Add a comment",
  changeComment: "Change the comment",
  label: "Comment",
  hint: "What was missing, or what helped. Everyone in the organization can read it.",
  save: "Send",
  cancel: "Cancel",
  sent: "Thank you for the feedback",
  tooLong: "It is too long: 1,000 bytes at most.",
  developersOnly: "Developers give feedback; you are a viewer",
};
