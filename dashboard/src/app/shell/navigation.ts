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
  { label: shell.home, to: (org) => paths.home(org), key: "g h", phone: true, count: needsOf },
  { label: shell.environments, to: (org) => paths.environments(org), key: "g e", phone: true, count: environmentsOf },
  { label: shell.lasting, to: (org) => paths.lasting(org), key: "g l" },
  { label: shell.pipelines, to: (org) => paths.pipelines(org), key: "g p" },
  { label: shell.deployments, to: (org) => paths.deployments(org), key: "g d", phone: true, count: liveOf },
  { label: shell.failures, to: (org) => paths.failures(org), key: "g f" },
  {
    label: shell.approvals,
    to: (org) => paths.approvals(org),
    key: "g a",
    phone: true,
    count: approvalsOf,
    isUrgent: true,
  },
];

export const ORGANIZATION: readonly Entry[] = [
  { label: shell.secrets, to: (org) => paths.secrets(org) },
  { label: shell.freezes, to: (org) => paths.freezes(org) },
  { label: shell.stepRegistries, to: (org) => paths.stepRegistries(org) },
  { label: shell.forges, to: (org) => paths.forges(org) },
  { label: shell.runners, to: (org) => paths.runners(org) },
  { label: shell.members, to: (org) => paths.members(org) },
  { label: shell.groups, to: (org) => paths.groups(org) },
  { label: shell.serviceAccounts, to: (org) => paths.serviceAccounts(org) },
  { label: shell.apiTokens, to: (org) => paths.apiTokens(org), key: "g s" },
  { label: shell.general, to: (org) => paths.general(org) },
];

/** The pages below Organization settings. */
export const SETTINGS: readonly Entry[] = [
  { label: shell.general, to: (org) => paths.general(org) },
  { label: shell.members, to: (org) => paths.members(org) },
  { label: shell.groups, to: (org) => paths.groups(org) },
  { label: shell.serviceAccounts, to: (org) => paths.serviceAccounts(org) },
  { label: shell.apiTokens, to: (org) => paths.apiTokens(org) },
  { label: shell.secrets, to: (org) => paths.secrets(org) },
  { label: shell.freezes, to: (org) => paths.freezes(org) },
  { label: shell.forges, to: (org) => paths.forges(org) },
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
