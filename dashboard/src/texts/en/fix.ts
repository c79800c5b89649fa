// Fixes of failures: the list in the panel of a failure, proposing and canceling one.
import { plural } from "./number";
import { clock } from "./time";

export const fixWords = {
  queued: "Queued",
  waiting: "Waiting",
  reproducing: "Reproducing",
  verifying: "Verifying",
  opening: "Opening",
  opened: "Pull request open",
  merged: "Merged",
  closed: "Closed",
  refused: "Refused",
  failed: "Failed",
  canceled: "Canceled",
};

const REASONS: Record<string, string> = {
  not_reproduced:
    "The failing commit did not fail in this way again, so that nothing was proven. The failure may be flaky.",
  still_red: "It fails with the fix too.",
  already_fixed: "The base branch has passed this stage meanwhile, without the fix.",
  commit_not_on_branch: "The commit is not on the branch.",
  branch_moved: "The branch got another commit after the one that was verified. Propose the fix with the new one.",
  no_environment: "No environment became free in time.",
  session_lost: "The session ended too early: it was released or taken over, or its time was over.",
  deployment_canceled: "Its deployment was canceled.",
  platform_error: "Greenroom, or something that it needs, failed. Propose it again.",
  rights_lost: "The person who requested it may not deploy any more, or was signed out.",
  forge_refused: "The forge did not accept it.",
  timed_out: "It took too long, for example because the forge did not respond.",
  canceled: "It was canceled.",
};

type Waiting = { kind: string; labels?: readonly string[] };

type Fix = {
  status: string;
  reason?: string | null;
  waitingOn: readonly Waiting[];
  deadlineAt?: string | null;
  runs: number;
  succeededRuns: number;
};

/** What happens now, what it waits for and until when, or how it has ended. */
export function fixSentence(fix: Fix, now: number): string {
  if (fix.reason) return REASONS[fix.reason] ?? sentence(fix.reason);
  const until = fix.deadlineAt ? `, until ${clock(Date.parse(fix.deadlineAt), now)} at the latest` : "";
  switch (fix.status) {
    case "queued":
    case "waiting":
      return `Waits for ${environmentText(fix.waitingOn)}${until}.`;
    case "reproducing":
      return `The failing commit is deployed, and has to fail in the same way${until}.`;
    case "verifying":
      return `The fix is deployed, and has to succeed${runsText(fix)}${until}.`;
    case "opening":
      return `It is verified. Waits for the forge to open a draft of the pull request${until}.`;
    case "opened":
      return "It is verified, and its draft is open. Reviewing and merging it is up to people.";
    case "merged":
      return "It was verified, and its pull request was merged.";
    case "closed":
      return "It was verified, and its pull request was closed without merging it.";
    default:
      return sentence(fix.status);
  }
}

function environmentText(waitingOn: readonly Waiting[]): string {
  const labels = waitingOn.find(({ kind }) => kind === "environment")?.labels ?? [];
  if (labels.length === 0) return "a free environment";
  return `a free environment with the ${labels.length === 1 ? "label" : "labels"} ${labels.join(", ")}`;
}

function runsText({ runs, succeededRuns }: Fix): string {
  return runs > 1 ? ` ${plural(runs, "time")}; ${succeededRuns} of ${runs} so far` : "";
}

/** A value of a newer server: `base_deleted` as `Base deleted.` */
function sentence(value: string): string {
  const words = value.replaceAll("_", " ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

export const fix = {
  title: "Fixes",
  of: (commit: string, branch: string) => `${commit} on ${branch}`,
  by: (who: string, when: string) => `${who}, ${when}`,
  without: "Without the fix",
  with: "With the fix",
  deploymentOf: (commit: string) => `deployment of ${commit}`,
  run: (number: number, commit: string) => `run ${number} of ${commit}`,
  outcomes: { red: "Red", green: "Green", running: "Running" },
  notRepeated: "red: it had failed twice in this way before",
  environment: "Environment",
  session: "its session",
  pullRequest: "Pull request",
  number: (number: number) => `#${number}`,
  cancel: "Cancel",
  cancelTitle: "Cancel this fix?",
  cancelText: (commit: string, environment: string | null | undefined) =>
    environment
      ? `The verification of ${commit} ends, its deployment is canceled, and ${environment} is released.`
      : `The verification of ${commit} ends. No pull request is opened.`,
  cancelAction: "Cancel the fix",
  keep: "Keep it",
  canceled: "The fix was canceled",
  onlyRequester: (who: string) => `${who} has requested it. Maintainers can cancel it too`,
};

export const propose = {
  action: "Propose a fix",
  hint: "Lets Greenroom verify a commit, and open the draft of a pull request",
  developersOnly: "Developers propose fixes; you are a viewer",
  title: (place: string) => `Propose a fix of ${place}`,
  text: "Greenroom claims an environment in your name, deploys the failing commit, which has to fail in the same way, and then yours, which has to succeed. After that it opens the draft of a pull request.",
  commit: "Commit",
  commitHint: "All 40 digits of the commit that fixes it. It has to be pushed.",
  branch: "Branch",
  branchHint: "The branch that the commit is on: the head of the pull request",
  submit: "Propose the fix",
  requested: "The fix was requested",
  mistakes: {
    commit: "Enter all 40 digits of the commit: 0–9 and a–f.",
    failing: "This is the commit that fails. Enter the one that fixes it.",
    branch: "Enter the name of the branch.",
  },
  showLive: "Show the live fix",
  showForges: "Show the forges",
};
