// Runners and pools.
import { plural } from "./number";

export const runner = {
  title: "Runners",
  pools: "Pools",
  pool: "Pool",
  poolHint: "Lower-case letters, digits and hyphens. A new pool is created with its first runner.",
  poolInvalid: "A pool's name begins with a letter and has lower-case letters, digits and hyphens.",
  network: "Network of steps",
  networks: {
    none: "none: no network at all",
    bridge: "bridge: own network, reaches the outside",
    host: "host: the network of the machine",
  },
  takes: "Takes",
  everything: "all jobs",
  restricted: (pipelines: number, environments: number) =>
    [
      pipelines > 0 ? plural(pipelines, "pipeline") : undefined,
      environments > 0 ? plural(environments, "environment") : undefined,
    ]
      .filter(Boolean)
      .join(", "),
  running: "Running",
  queued: "Queued",
  runners: "Runners",
  state: "State",
  name: "Name",
  jobs: "Jobs",
  idle: "none",
  seen: "Seen",
  version: "Version",
  never: "never",
  create: "New runner",
  nameHint: "Such as the name of its machine",
  nameRequired: "Give it a name.",
  once: "The new runner",
  onceText: "You will not see the token again. Save it in a file on the machine, then start the runner there.",
  token: "Token",
  command: "Command",
  notSeen: "It was not seen yet. This changes by itself when the runner starts.",
  wasSeen: "The runner is online.",
  lost: "The runner was created, but its token was lost with the connection. Revoke it and create another one.",
  done: "Done",
  revoke: "Revoke",
  revokeTitle: (name: string) => `Revoke ${name}?`,
  revokeText: (jobs: number) =>
    jobs === 0
      ? "It stops within a second and can't come back."
      : `It stops within a second. ${plural(jobs, "running job")} fail${jobs === 1 ? "s" : ""} as a platform error and can be retried.`,
  revokedToast: (name: string) => `${name} was revoked`,
  edit: "Change",
  editTitle: (name: string) => `Pool ${name}`,
  pipelines: "Pipelines",
  allPipelines: "All",
  somePipelines: "Only these",
  pipelinesRequired: "Choose one pipeline at least.",
  environments: "Environments",
  environmentsHint:
    "Names or templates such as pr-*, separated by commas; none stands for stages without an environment. Empty: all.",
  save: "Save",
  saved: (name: string) => `The pool ${name} was changed`,
  emptyTitle: "No runners yet",
  emptyText: "A runner executes the steps of pipelines on a machine of yours. Create one, and start it with its token.",
  refusedText: "Admins see and change runners.",
  askAdmins: (names: string) => `Ask ${names}.`,
};
