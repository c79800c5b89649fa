// Pipelines.
import { plural } from "./number";

export const pipeline = {
  title: "Pipelines",
  filter: "Filter by name",
  name: "Name",
  state: "State",
  status: "Status",
  statuses: { all: "All", active: "Active", stopped: "Stopped", archived: "Archived" },
  environments: "Environments",
  free: (free: number, total: number) => `${free} of ${total} free`,
  noEnvironments: "none",
  lately: "Lately",
  /** The newest deployments in one sentence, for screen readers and tooltips. */
  latelySentence: (total: number, succeeded: number) =>
    total === 0
      ? "no deployments yet"
      : `${succeeded} of the last ${plural(total, "deployment")} ${succeeded === 1 ? "has" : "have"} succeeded`,
  lastDeployment: "Last deployment",
  emptyTitle: "No pipelines yet",
  emptyText: "Create one with the API: POST /organizations/{orgId}/pipelines.",
  noMatchTitle: "No pipeline matches",
  noMatchText: "Change the filter to see the others.",
  showAll: "Show all",
  stop: "Stop",
  stopTitle: (name: string) => `Stop ${name}?`,
  stopText: "New deployments wait until it is resumed. Environments can still be claimed and released.",
  mode: "Deployments that run already",
  modes: {
    drain: "may end",
    pause: "pause before their next stage",
    cancel: "are canceled",
  },
  reason: "Reason",
  reasonHint: "Everybody who waits reads it.",
  stopped: (name: string) => `${name} is stopped`,
  resume: "Resume",
  resumed: (name: string) => `${name} goes on`,
  maintainersOnly: "Maintainers stop and resume pipelines",
};
