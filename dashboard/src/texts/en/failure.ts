// Why stages have failed: the panel of a deployment, the list of failures, and failures with one fingerprint.
import { shortCommit, shortId } from "@/lib/ids";
import { count, plural } from "./number";
import { clock, duration } from "./time";

/** Whose failure it is: to the person who started the deployment, and to everybody else. */
export const verdictWords = {
  yours: { mine: "Yours", other: "This change" },
  not_only_you: { mine: "Not only you", other: "Not only this change" },
  flaky: { mine: "Flaky", other: "Flaky" },
  environment: { mine: "The environment", other: "The environment" },
  platform: { mine: "The platform", other: "The platform" },
  unknown: { mine: "Unknown", other: "Unknown" },
};

type Good = { commitId: string; environment?: string | null; at: string };
type Verdict = { because: readonly string[]; lastGood?: Good | null };

const BECAUSE: Record<string, string> = {
  platform_error: "Greenroom, or something that it needs, failed",
  passed_too: "the same commit passed here too, with the same definition and image",
  others_fail_like_this: "changes of others fail in the same way",
  passed_elsewhere: "this commit passed in another environment",
  others_failed_here: "the last three commits of others failed here too",
  nobody_else: "nobody else fails like this",
  never_good: "there is no good run to compare with",
  nothing_changed: "nothing was changed since",
};

/** The facts that the verdict is based on, in one sentence without a capital letter. */
export function verdictSentence({ because, lastGood }: Verdict, now: number): string {
  const facts = because.flatMap((fact) => BECAUSE[fact] ?? []);
  const good = lastGood && goodText(lastGood, now);
  return (good ? [good, ...facts] : facts).join("; ");
}

function goodText({ commitId, environment, at }: Good, now: number): string {
  const place = environment ? ` in ${environment}` : "";
  return `good at ${clock(Date.parse(at), now)} with ${shortCommit(commitId)}${place}`;
}

export const categoryWords: Record<string, string> = {
  compile: "Compiler",
  test: "Test",
  dependency: "Dependency",
  configuration: "Configuration",
  network: "Network",
  database: "Database",
  resource: "Resources",
  timeout: "Timeout",
  platform: "Platform",
  gate: "Gate",
  unknown: "Not known",
};

type Log = { lines: number; newLines: number; baselines: readonly string[]; skippedBytes: number };

/** How much of the log no good run has. */
export function newLinesText({ lines, newLines, baselines, skippedBytes }: Log): string {
  const skipped = skippedBytes > 0 ? "; a part in the middle of the log was not read" : "";
  if (baselines.length === 0) return `${plural(lines, "line")}, and no earlier good run to compare them with${skipped}`;
  const are = newLines === 1 ? "is" : "are";
  return `${count(newLines)} of ${plural(lines, "line")} ${are} new against ${plural(baselines.length, "good run")}${skipped}`;
}

type Changes = {
  commits?: { from: string; to: string } | null;
  definition?: { from: number; to: number; stages: readonly string[] } | null;
  images: readonly { step: string; from: string; to: string }[];
  runner?: { from: string; to: string } | null;
};

/** What was changed since the last good run, one text per change. */
export function changeTexts({ commits, definition, images, runner }: Changes): string[] {
  const texts: string[] = [];
  if (commits) texts.push(`commit ${shortCommit(commits.from)} → ${shortCommit(commits.to)}`);
  if (definition) {
    const { from, to, stages } = definition;
    const which = stages.length > 0 ? ` (${stages.join(", ")})` : "";
    texts.push(`definition v${from} → v${to}${which}`);
  }
  for (const { step, from, to } of images) texts.push(`image of ${step} ${shortDigest(from)} → ${shortDigest(to)}`);
  if (runner) texts.push(`runner ${shortId(runner.from)} → ${shortId(runner.to)}`);
  return texts;
}

function shortDigest(digest: string): string {
  return `${digest.replace(/^sha256:/, "").slice(0, 7)}…`;
}

type End = { kind: string; commitId: string };

/** By what the failures with one fingerprint have ended, beside the word "Ended". */
export function endText({ kind, commitId }: End): string {
  const commit = shortCommit(commitId);
  switch (kind) {
    case "commit":
      return `by commit ${commit}`;
    case "definition":
      return "by another definition";
    case "retry":
      return "by a retry of the same commit";
    case "elsewhere":
      return `not here, good elsewhere with ${commit}`;
    default:
      return `by ${kind}`;
  }
}

/** The same as the end of a sentence. */
export function lastEndText(end: End): string {
  if (end.kind === "elsewhere") return `not ended here, good elsewhere with ${shortCommit(end.commitId)}`;
  return `last ended ${endText(end)}`;
}

const REASONS: Record<string, string> = {
  step_failed: "the step failed",
  timed_out: "timed out",
  runner_lost: "the runner was lost",
  no_runner: "no runner came",
  runner_error: "the runner failed",
  commit_not_found: "the commit was not found",
  commit_not_on_branch: "the commit is not on its branch",
  repository_unavailable: "the repository can't be reached",
  checkout_host_not_allowed: "the host of the repository is not allowed",
  image_not_found: "the image was not found",
  pool_restricted: "the pool does not take this pipeline",
  input_refused: "a stage before ran in a pool that takes more jobs",
  secret_missing: "a secret is missing",
  secret_denied: "a secret was denied",
  deploy_denied: "the deployment was denied",
  unsupported: "the runner does not support it",
  step_refused: "the step was refused",
  step_digest_mismatch: "the content of a step was changed",
  invalid_definition: "the definition is invalid",
  approval_rejected: "it was rejected",
  approval_expired: "nobody approved it in time",
};

/** `exit 1 after 0:41`, `timed out after 10:00`, `no runner came`. */
export function endedText(exitCode: number | null | undefined, reason: string, took: string | undefined): string {
  const known = REASONS[reason] ?? reason.replaceAll("_", " ");
  const end = reason === "step_failed" && typeof exitCode === "number" ? `exit ${exitCode}` : known;
  return took === undefined ? end : `${end} after ${took}`;
}

export const panel = {
  title: "Why it failed",
  place: (stage: string, step: string | null | undefined) => (step ? `${stage} › ${step}` : stage),
  collecting: "The log is being read. What it shows appears here in a moment.",
  lines: (place: string) => `Lines of the log of ${place}`,
  line: (number: number) => `Show line ${count(number)} in the log`,
  like: (lines: number) => `(${count(lines)} like it)`,
  leftOut: "lines are left out here",
  show: (lines: number) => `Show ${count(lines)} lines`,
  showFewer: "Show fewer lines",
  omitted: (lines: number) => `${plural(lines, "new line")} not shown`,
  noLog: "There is no log: no step had started.",
  openLog: "Open the log",
  whose: "Whose",
  changed: "Changed",
  changedNothing: "nothing: the same commit, definition, images and runner as in the last good run",
  seen: "Seen",
  about: "About",
  silence: "Silence",
  silent: (seconds: number) => `no output for ${duration(seconds * 1_000)}`,
  showGood: "Show the good run",
  first: "for the first time",
  times: (times: number, since: string) => `${plural(times, "time")} since ${since}`,
  all: "All failures like it",
  copy: "Copy for an agent",
  copyHint: "The evidence as one text, for a coding agent",
  copied: "The evidence was copied",
  copyByHand: "Evidence for an agent",
  notCopied: "The browser did not allow copying at once. Copy it here.",
  expiredTitle: "The log is gone",
  expired: "Logs and the evidence in them are kept 90 days. What is remembered of the failure:",
};

export const note = {
  title: "Note",
  none: "none yet",
  write: "Write a note",
  edit: "Change the note",
  label: "Note about failures like this one",
  hint: "Shown with each of them. An empty text deletes it.",
  save: "Save",
  cancel: "Cancel",
  saved: "The note was saved",
  deleted: "The note was deleted",
  by: (who: string, when: string) => `${who}, ${when}`,
  developersWrite: "Developers write notes; you are a viewer",
};

export const failures = {
  title: "Failures",
  intro: "Failed attempts of stages, each with the line that shows best why.",
  line: "Line",
  place: "Stage",
  verdict: "Whose",
  environment: "Environment",
  commit: "Commit",
  by: "By",
  when: "When",
  pipeline: "Pipeline",
  allPipelines: "All",
  verdictFilter: "Whose",
  allVerdicts: "All",
  since: "Since",
  ever: "Any time",
  periods: { "24h": "24 hours ago", "7d": "7 days ago", "30d": "30 days ago" },
  collecting: "The log is being read",
  emptyTitle: "No failures yet",
  emptyText: "When a stage fails, the line that shows why appears here a second later.",
  noMatch: "No failure matches.",
  showAll: "Show all",
};

export const failure = {
  title: "Failure",
  facts: "Facts",
  timesWord: (times: number) => (times === 1 ? "time" : "times"),
  fingerprint: "Fingerprint",
  first: "First",
  last: "Last",
  ended: "Ended",
  notEnded: "not yet: no good run since",
  about: "About",
  newest: "Newest failures",
};
