// What the side bar and the bottom bar show. Only screens that work are listed.
import type { Summary } from "@/api/types";
import { paths } from "@/lib/paths";
import { shell } from "@/texts/en/shell";

/** What the server counts, and the approvals that wait for the person, once they are read. */
export type Counts = Summary & { approvals?: number };

export type Entry = {
  label: string;
  to: (org: string) => string;
  /** The keys that lead there. */
  key?: string;
  /** What is counted beside it, if it is more than zero. */
  count?: (counts: Counts) => number;
  /** What is counted waits for the person, so that phones show it too. */
  isUrgent?: boolean;
  /** In the bottom bar of phones too: at most four. */
  phone?: boolean;
};

export const MAIN: readonly Entry[] = [
  { label: shell.home, to: paths.home, key: "g h", phone: true, count: needsOf },
  { label: shell.environments, to: paths.environments, key: "g e", phone: true, count: environmentsOf },
  { label: shell.lasting, to: paths.lasting, key: "g l" },
  { label: shell.pipelines, to: paths.pipelines, key: "g p" },
  { label: shell.deployments, to: paths.deployments, key: "g d", phone: true, count: liveOf },
  { label: shell.failures, to: paths.failures, key: "g f" },
  {
    label: shell.approvals,
    to: paths.approvals,
    key: "g a",
    phone: true,
    count: approvalsOf,
    isUrgent: true,
  },
];

export const ORGANIZATION: readonly Entry[] = [
  { label: shell.secrets, to: paths.secrets },
  { label: shell.freezes, to: paths.freezes },
  { label: shell.stepRegistries, to: paths.stepRegistries },
  { label: shell.forges, to: paths.forges },
  { label: shell.analysis, to: paths.analysisSettings },
  { label: shell.runners, to: paths.runners },
  { label: shell.members, to: paths.members },
  { label: shell.groups, to: paths.groups },
  { label: shell.serviceAccounts, to: paths.serviceAccounts },
  { label: shell.apiTokens, to: paths.apiTokens, key: "g s" },
  { label: shell.general, to: paths.general },
];

/** Turns to confirm, requests to hand over, and approvals. */
function needsOf({ yours, approvals = 0 }: Counts): number {
  return yours.turns + yours.handovers + approvals;
}

function approvalsOf({ approvals = 0 }: Counts): number {
  return approvals;
}

function environmentsOf({ environments }: Summary): number {
  return environments.total;
}

/** Deployments that have not ended. */
function liveOf({ deployments }: Summary): number {
  const { queued, running, waiting, paused, canceling } = deployments;
  return queued + running + waiting + paused + canceling;
}

/** Whether the entry is the page, or contains it. The home page contains only itself. */
export function isCurrent(entry: Entry, org: string, pathname: string): boolean {
  const path = entry.to(org);
  if (path === paths.home(org)) return pathname === path || pathname === `${path}/`;
  return pathname === path || pathname.startsWith(`${path}/`);
}
