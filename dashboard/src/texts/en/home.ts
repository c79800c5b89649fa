// The home page.
import { plural } from "./number";

export const home = {
  title: "Home",
  needsYou: "Needs you",
  nothing: "Nothing waits for you.",
  yours: "Yours",
  lately: "Lately",
  turn: (env: string) => `Your turn: ${env}`,
  asked: (who: string, env: string) => `${who} asks for ${env}`,
  approve: (commit: string, target: string) => `Approve ${commit} for ${target}?`,
  votes: (have: number, needed: number) => `${have} of ${needed}`,
  moreApprovals: (approvals: number) => `${plural(approvals, "more approval")} ${approvals === 1 ? "waits" : "wait"}.`,
  failed: (commit: string, env: string) => `${commit} failed in ${env}`,
  free: (environments: number) => `${plural(environments, "environment")} ${environments === 1 ? "is" : "are"} free.`,
  noneLately: "Nothing was deployed yet. Claim an environment and deploy a commit into it.",
  pipelines: "Pipelines",
  noPipelines: "No pipelines yet.",
  noneYours: "You hold no environment.",
  count: (held: number) => plural(held, "environment"),
};
