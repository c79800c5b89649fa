// Analyses of failures: what a model writes about one, and feedback.
import { plural } from "./number";
import { clock } from "./time";

export const analysisWords = {
  queued: "Queued",
  collecting: "Collecting",
  analyzing: "Explaining",
  succeeded: "Ready",
  failed: "Failed",
  refused: "Refused",
};

const LIMITS: Record<string, string> = {
  requests: "requests per day",
  tokens: "tokens per month",
  cost: "cost per month",
};

/** `at`: when the limit resets; `undefined` if it is too low for a single call. */
export function budgetSentence(limit: string | undefined, at: number | undefined, now: number): string {
  const which = limit === undefined ? "A limit" : `The limit of ${LIMITS[limit] ?? limit}`;
  const what = `${which} for your organization's model`;
  return at === undefined
    ? `${what} does not allow this call. An admin can raise it.`
    : `${what} is used up. It resets ${clock(at, now)}, and an admin can raise it.`;
}

type Analysis = { status: string; reason?: string | null; detail?: string | null; deadlineAt?: string | null };

/** What the call of the model waits for and until when, or why it gave nothing. */
export function attemptSentence({ status, reason, detail, deadlineAt }: Analysis, now: number): string {
  if (reason === "budget_exhausted") return `The model was not called: ${detail}. An admin can raise the limit.`;
  if (reason) return "The model gave no explanation. What is shown above needs none.";
  const until = deadlineAt ? `, until ${clock(Date.parse(deadlineAt), now)} at the latest` : "";
  return status === "analyzing" ? `Waits for the model to respond${until}.` : `Waits for the evidence${until}.`;
}

export const explanation = {
  title: "In the words of a model",
  attempt: "Explanation by a model",
  author: (name: string, host: string) => `Written by ${name} at ${host}.`,
  mayBeWrong: "A model may be wrong or misled: check it against the lines above before you act on it.",
  notEnough: "The model states that the evidence is not enough to name a cause.",
  noCause: "The model names no cause.",
  next: "Next",
  evidence: "Refers to",
  line: (number: number) => `Show line ${number} in the log`,
  more: (lines: number) => `and ${plural(lines, "more line")}`,
  suspects: "Suspects",
  about: "About",
  confidence: "Confidence",
  confidences: { low: "low", medium: "medium", high: "high" } as Record<string, string>,
  stated: (confidence: string) => `${confidence}, as the model states`,
  reused:
    "It was written for an earlier failure that is the same after the same changes. Nothing was sent for this one.",
  action: "Explain with a model",
  hint: (model: string, host: string) => `Sends the evidence to ${model} at ${host}, and shows what it writes`,
  developersOnly: "Developers request explanations; you are a viewer",
};

export const prompt = {
  action: "What was sent",
  title: "What was sent to the model",
  maintainersOnly: "Maintainers can read it",
  to: "To",
  model: "Model",
  at: "At",
  tokens: "Tokens",
  tokensOf: (input: number, output: number) =>
    `${plural(input, "token")} of input, ${plural(output, "token")} of output`,
  error: "Error",
  hash: "SHA-256",
  text: "Everything that was sent",
  none: "Nothing was sent for this analysis: the call was not made.",
  gone: "It was deleted with the logs.",
};

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
