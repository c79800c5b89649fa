// The addresses of all screens, in one place. Every link is built here; the router parses the same patterns.

type Query = Record<string, string | number | undefined>;

export type Environment = { org: string; pipeline: string; env: string };
/** A lasting environment. */
export type LastingRef = { org: string; pipeline: string; name: string };
/** A step of a registry. */
export type StepRef = { org: string; registry: string; step: string };

function join(...parts: string[]): string {
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

function withQuery(path: string, query: Query): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") search.set(key, String(value));
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

export const paths = {
  signIn: (returnTo?: string) => withQuery("/sign-in", { return: returnTo }),
  welcome: () => "/welcome",
  setUp: () => "/setup",
  me: () => "/me",
  home: (org: string) => join("o", org),
  environments: (org: string, query: { q?: string; state?: string; label?: string } = {}) =>
    withQuery(join("o", org, "environments"), query),
  pipelines: (org: string, query: { status?: string; q?: string } = {}) =>
    withQuery(join("o", org, "pipelines"), query),
  newPipeline: (org: string) => join("o", org, "pipelines", "new"),
  pipeline: (org: string, pipeline: string, query: { q?: string; state?: string } = {}) =>
    withQuery(join("o", org, "pipelines", pipeline), query),
  pipelineDeployments: (org: string, pipeline: string) => join("o", org, "pipelines", pipeline, "deployments"),
  pipelineDefinition: (org: string, pipeline: string) => join("o", org, "pipelines", pipeline, "definition"),
  pipelineSettings: (org: string, pipeline: string) => join("o", org, "pipelines", pipeline, "settings"),
  environment: ({ org, pipeline, env }: Environment, query: { range?: string } = {}) =>
    withQuery(join("o", org, "pipelines", pipeline, "environments", env), query),
  lasting: (org: string, query: { pipeline?: string; commit?: string } = {}) =>
    withQuery(join("o", org, "lasting"), query),
  lastingEnvironment: ({ org, pipeline, name }: LastingRef) => join("o", org, "pipelines", pipeline, "lasting", name),
  session: ({ org, pipeline, env }: Environment, session: string) =>
    join("o", org, "pipelines", pipeline, "environments", env, "sessions", session),
  deployments: (org: string, query: { status?: string; env?: string; commit?: string } = {}) =>
    withQuery(join("o", org, "deployments"), query),
  deployment: (
    org: string,
    id: string,
    query: { stage?: string; attempt?: number; step?: string } = {},
    lines?: { from: number; to?: number },
  ) => withQuery(join("o", org, "deployments", id), query) + (lines ? lineFragment(lines) : ""),
  failures: (org: string, query: { pipeline?: string; verdict?: string; since?: string } = {}) =>
    withQuery(join("o", org, "failures"), query),
  failure: (org: string, fingerprint: string) => join("o", org, "failures", fingerprint),
  approvals: (org: string, query: { whose?: string; status?: string } = {}) =>
    withQuery(join("o", org, "approvals"), query),
  approval: (org: string, id: string) => join("o", org, "approvals", id),
  runners: (org: string) => join("o", org, "runners"),
  stepRegistries: (org: string) => join("o", org, "step-registries"),
  stepRegistry: (org: string, registry: string) => join("o", org, "step-registries", registry),
  registryStep: ({ org, registry, step }: StepRef, query: { view?: string; version?: string; from?: string } = {}) =>
    withQuery(join("o", org, "step-registries", registry, "steps", step), query),
  general: (org: string) => join("o", org, "settings", "general"),
  members: (org: string) => join("o", org, "settings", "members"),
  apiTokens: (org: string) => join("o", org, "settings", "api-tokens"),
  secrets: (org: string, query: { pipeline?: string } = {}) => withQuery(join("o", org, "settings", "secrets"), query),
  secret: (org: string, secret: string) => join("o", org, "settings", "secrets", secret),
  freezes: (org: string) => join("o", org, "settings", "freezes"),
  forges: (org: string) => join("o", org, "settings", "forges"),
  analysisSettings: (org: string) => join("o", org, "settings", "analysis"),
  groups: (org: string) => join("o", org, "settings", "groups"),
  group: (org: string, group: string) => join("o", org, "settings", "groups", group),
  serviceAccounts: (org: string) => join("o", org, "settings", "service-accounts"),
  serviceAccount: (org: string, account: string) => join("o", org, "settings", "service-accounts", account),
  components: () => "/dev/ui",
};

function lineFragment({ from, to }: { from: number; to?: number }): string {
  return to === undefined || to === from ? `#L${from}` : `#L${from}-L${to}`;
}

/** Returns where to go after sign-in. Only an address of this origin is accepted, so that a link can't redirect elsewhere. */
export function safeReturn(value: string | undefined, origin: string): string {
  if (!value?.startsWith("/") || value.startsWith("//") || value.includes("\\")) return "/";
  try {
    const url = new URL(value, origin);
    return url.origin === origin ? url.pathname + url.search + url.hash : "/";
  } catch {
    return "/";
  }
}
