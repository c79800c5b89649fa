// The keys of all cached reads. The first two parts are the organization, so that one call invalidates all of it.

export const keys = {
  browserSessions: ["browser-sessions"] as const,
  organization: (org: string) => ["org", org] as const,
  me: (org: string) => ["org", org, "me"] as const,
  record: (org: string) => ["org", org, "organization"] as const,
  members: (org: string) => ["org", org, "members"] as const,
  summary: (org: string) => ["org", org, "summary"] as const,
  tokens: (org: string) => ["org", org, "tokens"] as const,
  groups: (org: string) => ["org", org, "groups"] as const,
  grants: (org: string) => ["org", org, "grants"] as const,
  serviceAccounts: (org: string) => ["org", org, "service-accounts"] as const,
  runners: (org: string) => ["org", org, "runners"] as const,
  /** Lists of secrets, and all reads of one secret. */
  secrets: (org: string) => ["org", org, "secrets"] as const,
  secret: (org: string, secret: string) => ["org", org, "secrets", "one", secret] as const,
  /** Lists of step registries, and all reads of one: its steps, their versions, what was refused. */
  stepRegistries: (org: string) => ["org", org, "step-registries"] as const,
  stepRegistry: (org: string, registry: string) => ["org", org, "step-registries", "one", registry] as const,
  forges: (org: string) => ["org", org, "forges"] as const,
  analysisSettings: (org: string) => ["org", org, "analysis-settings"] as const,
  /** Which pipelines use a step. */
  stepUsage: (org: string) => ["org", org, "step-usage"] as const,
  pools: (org: string) => ["org", org, "pools"] as const,
  pipelines: (org: string) => ["org", org, "pipelines"] as const,
  pipeline: (org: string, pipeline: string) => ["org", org, "pipeline", pipeline] as const,
  /** Lists of environments of all pipelines, each with its filter. */
  allEnvironments: (org: string) => ["org", org, "all-environments"] as const,
  environments: (org: string, pipeline: string) => ["org", org, "environments", pipeline] as const,
  environment: (org: string, pipeline: string, env: string) => ["org", org, "environment", pipeline, env] as const,
  queue: (org: string, pipeline: string, env: string) => ["org", org, "queue", pipeline, env] as const,
  history: (org: string, pipeline: string, env: string) => ["org", org, "history", pipeline, env] as const,
  /** All reads of lasting environments: lists, single ones and histories. */
  lasting: (org: string) => ["org", org, "lasting"] as const,
  freezes: (org: string) => ["org", org, "freezes"] as const,
  /** Lists of approvals, and all single ones. */
  approvals: (org: string) => ["org", org, "approvals"] as const,
  approval: (org: string, id: string) => ["org", org, "approvals", "one", id] as const,
  notices: (org: string) => ["org", org, "notices"] as const,
  mySessions: (org: string) => ["org", org, "my-sessions"] as const,
  session: (org: string, session: string) => ["org", org, "session", session] as const,
  deployments: (org: string) => ["org", org, "deployments"] as const,
  pipelineDeployments: (org: string, pipeline: string) => ["org", org, "pipeline-deployments", pipeline] as const,
  deployment: (org: string, id: string) => ["org", org, "deployment", id] as const,
  /** Every deployment that is open. */
  everyDeployment: (org: string) => ["org", org, "deployment"] as const,
  /** Why stages of a deployment have failed. Analyses and fixes of these failures are below it. */
  evidence: (org: string, deployment: string) => ["org", org, "evidence", deployment] as const,
  everyEvidence: (org: string) => ["org", org, "evidence"] as const,
  /** Lists of failures, and all failures with one fingerprint. */
  failures: (org: string) => ["org", org, "failures"] as const,
  failure: (org: string, fingerprint: string) => ["org", org, "failures", "one", fingerprint] as const,
  attempts: (org: string, deployment: string, stage: string) => ["org", org, "attempts", deployment, stage] as const,
};
