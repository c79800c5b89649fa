// One step of a registry: its documentation, versions, usage and changes.
import { count, plural } from "./number";
import { clock } from "./time";

export const step = {
  view: "View",
  views: { docs: "Docs", versions: "Versions", usage: "Usage", changes: "Changes" },
  version: "Version",
  newestMark: (version: string) => `${version} (newest)`,
  number: (version: string) => `v${version}`,
  example: "Example",
  resolves: (reference: string, version: string) =>
    `A definition that is saved now with ${reference} locks ${version}.`,
  unresolved: (reference: string) => `${reference} can't be used now: `,
  inputs: "Inputs",
  noInputs: "It has no inputs.",
  name: "Name",
  type: "Type",
  required: "Required",
  yes: "yes",
  no: "no",
  requiredMark: "required",
  optionalMark: "optional",
  default: "Default",
  defaultMark: "default",
  none: "–",
  allowed: "Allowed values",
  anyValue: "any",
  description: "Description",
  from: (minimum: string) => `at least ${minimum}`,
  to: (maximum: string) => `at most ${maximum}`,
  range: (minimum: string, maximum: string) => `${minimum} to ${maximum}`,
  characters: (text: string) => `${text} characters`,
  pattern: "pattern",
  secrets: "Secrets",
  secretsText: "The step reads each from a variable. A definition names the secret for it under secrets.",
  idTokens: "Id tokens",
  idTokensText: "The variable has the path of a file with the token. A definition names the audience under idTokens.",
  outputs: "Outputs",
  outputsText: "What the step writes for later stages.",
  variable: "Variable",
  script: "Script",
  files: "Files",
  executable: "executable",
  notReadable: "The documentation can't be shown",
  notReadableText: "This dashboard does not understand its step.yaml. Here is the text:",
  manifest: "step.yaml",
  facts: "Facts",
  registry: "Registry",
  image: "Image",
  digest: "Digest",
  tag: "Tag",
  signer: "Signed by",
  unsigned: "not signed",
  published: "Published",
  size: "Size",
  bytes: (bytes: number) => (bytes < 1_024 ? plural(bytes, "byte") : `${count(Math.round(bytes / 102.4) / 10)} KiB`),
  state: "State",
  by: "By",
};

export const stepVersions = {
  intro: "The highest first. A version never changes: its content is kept by its digest.",
  compare: "Changes",
  compareOf: (version: string) => `of ${version}`,
  yank: "Yank",
  refuse: "Refuse",
  actionOf: (version: string) => `version ${version}`,
  yanked: (by: string, reason: string) => `Yanked by ${by}: “${reason}”`,
  refused: (by: string, reason: string) => `Refused by ${by}: “${reason}”`,
  yankedText:
    "References such as v2 no longer choose it; a definition that names exactly this version still can. Pipelines that have locked it go on.",
  refusedText: "Nothing can lock it, and stages that have locked it fail. Update those pipelines to another version.",
  sameContentText:
    "Its content is that of a version that was refused, so nothing can lock it. Publish a version with other content.",
  youngText: (until: number, now: number) =>
    `The registry requires a minimum age. Definitions can lock this version from ${clock(until, now)} on.`,
  unsignedText:
    "The registry requires a signature of one of its signers, and this version has none. Publish a version with a signed tag.",
};

export const yank = {
  title: (name: string, version: string) => `Yank ${name} ${version}?`,
  refuseTitle: (name: string, version: string) => `Refuse ${name} ${version}?`,
  text: "A yanked version is no longer chosen by references such as v2, and what has locked it goes on; a refused one can't be locked at all, and stages that have locked it fail. Neither can be undone: publish a higher version instead.",
  reason: "Reason",
  reasonHint: "Everybody who uses the version reads it.",
  reasonRequired: "Give a reason: those who use it read it.",
  refuse: "Refuse it too: stages that have locked it fail from now on",
  usedBy: (pipelines: number) =>
    `${plural(pipelines, "pipeline")} ${pipelines === 1 ? "has" : "have"} locked this version.`,
  usedByNone: "No pipeline has locked this version.",
  yank: "Yank",
  action: "Yank and refuse",
  refuseAction: "Refuse",
  yanked: (version: string) => `${version} is yanked`,
  refused: (version: string) => `${version} is refused`,
};

export const stepUsage = {
  intro: "The current definitions that use the step, and the version that each has locked.",
  pipeline: "Pipeline",
  uses: "Reference",
  version: "Locked version",
  definition: "Definition",
  definitionVersion: (version: number) => `version ${version}`,
  emptyTitle: "No pipeline uses it",
  emptyText: "Copy the example of its documentation into a stage of a pipeline, and save the definition.",
};

export const stepUpdate = {
  action: "Update",
  actionOf: (pipeline: string) => `the steps of ${pipeline}`,
  title: (pipeline: string) => `Update the steps of ${pipeline}?`,
  text: "Its references are resolved again, and a new version of its definition has the same text and these versions. Deployments that exist keep theirs.",
  changes: "What changes",
  versions: (before: string | undefined, after: string | undefined) => `${before ?? "new"} → ${after ?? "gone"}`,
  nothing: "Nothing would change: its references mean the versions that it has locked.",
  compare: "Changes",
  updated: (pipeline: string, version: number) => `${pipeline} has version ${version} of its definition`,
};

export const stepDiff = {
  from: "From",
  to: "To",
  before: "the version before",
  between: (from: string, to: string) => `From ${from} to ${to}`,
  allOf: (version: string) => `All of ${version}`,
  first: "This is the first version: everything in it is new.",
  files: "Files",
  added: "Added",
  removed: "Removed",
  changed: "Changed",
  mode: (before: string, after: string) => `mode ${before} → ${after}`,
  sameFiles: "The files are the same.",
  sameManifest: "step.yaml is the same.",
  manifest: "step.yaml",
  onlySums: "Of other files, only their SHA-256 are compared.",
};
