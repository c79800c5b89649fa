// The word of each state. `ui/state.ts` adds the tone and the icon.
import { ordinal } from "./number";

export const environmentWords = {
  free: "Free",
  yours: "Yours",
  your_turn: "Your turn",
  held: "Held",
  asked_for: "Asked for",
  in_line: "In line",
  cleaning_up: "Cleaning up",
};

export const inLine = (position: number | undefined): string =>
  position === undefined ? environmentWords.in_line : `In line, ${ordinal(position)}`;

export const sessionWords = {
  queued: "In line",
  active: "Active",
  released: "Released",
  expired: "Expired",
  overridden: "Taken over",
  canceled: "Canceled",
};

export const workWords = {
  pending: "Pending",
  queued: "Queued",
  running: "Running",
  waiting: "Waiting",
  paused: "Paused",
  succeeded: "Succeeded",
  failed: "Failed",
  errored: "Platform error",
  canceling: "Canceling",
  canceled: "Canceled",
  superseded: "Superseded",
  skipped: "Skipped",
};

export const approvalWords = {
  pending: "Pending",
  approved: "Approved",
  rejected: "Rejected",
  expired: "Expired",
  canceled: "Canceled",
  invalidated: "Invalidated",
  superseded: "Superseded",
};

export const lastingWords = { live: "Live", held: "Held", frozen: "Frozen" };

export const freezeWords = { active: "Frozen", coming: "Coming", over: "Over" };

export const pipelineWords = { active: "Active", stopped: "Stopped", archived: "Archived" };

export const secretVersionWords = { staged: "Staged", active: "Active", retired: "Retired", destroyed: "Destroyed" };

export const registryWords = { active: "Active", degraded: "Degraded", disabled: "Disabled" };

/** Whether a version of a step can be locked. */
export const stepVersionWords = {
  usable: "Usable",
  young: "Too new",
  unsigned: "Not signed",
  yanked: "Yanked",
  refused: "Refused",
};

export const runnerWords = { online: "Online", draining: "Draining", offline: "Offline", revoked: "Revoked" };
