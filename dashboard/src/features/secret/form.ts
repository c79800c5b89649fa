// The forms of a secret: what is wrong in them, and their requests, without the value. Pure.
import type { NewSecret, SecretChange } from "@/api/secret";
import type { Secret, SecretPolicy } from "@/api/types";

export type Scope = "pipeline" | "environment" | "organization";
export type User = "steps" | "checkout" | "registry";

export const SCOPES: readonly Scope[] = ["pipeline", "environment", "organization"];
export const USERS: readonly User[] = ["steps", "checkout", "registry"];

export type Rules = {
  pipelines: readonly string[];
  /** Names, separated by commas or spaces. */
  environments: string;
  branches: string;
  pools: string;
  /** Only of what the platform fetches repositories with. */
  repositories: string;
};

export type Form = {
  name: string;
  scope: Scope;
  pipelineId: string;
  environment: string;
  description: string;
  user: User;
  host: string;
  rules: Rules;
};

export const NO_RULES: Rules = { pipelines: [], environments: "", branches: "", pools: "", repositories: "" };

/** `pipelineId` is the pipeline whose secrets were listed, if it was one. */
export function formOf(pipelineId = ""): Form {
  return {
    name: "",
    scope: "pipeline",
    pipelineId,
    environment: "",
    description: "",
    user: "steps",
    host: "",
    rules: NO_RULES,
  };
}

export type Mistake = "name" | "pipeline" | "environment" | "host" | "pipelines" | "repositories";

const NAME = /^[a-z][a-z0-9-]{0,62}$/;

export function mistakesOf(form: Form): Mistake[] {
  const { name, scope, pipelineId, environment, user, host, rules } = form;
  const mistakes: Mistake[] = [];
  if (!NAME.test(name)) mistakes.push("name");
  if (scope !== "organization" && pipelineId === "") mistakes.push("pipeline");
  if (scope === "environment" && environment.trim() === "") mistakes.push("environment");
  if (user !== "steps" && host.trim() === "") mistakes.push("host");
  if (lacksPipelines(scope, rules, user !== "steps")) mistakes.push("pipelines");
  // The server accepts it with a warning. A new one names the host alone if it is for all of it.
  if (user === "checkout" && scope === "organization" && namesOf(rules.repositories).length === 0) {
    mistakes.push("repositories");
  }
  return mistakes;
}

/** Environments, branches and pools mean something only within a pipeline, so a secret of all has to name them. */
export function lacksPipelines(scope: Secret["scope"], rules: Rules, hasUse: boolean): boolean {
  const others = [rules.environments, rules.branches, rules.pools].some((text) => namesOf(text).length > 0);
  return scope === "organization" && rules.pipelines.length === 0 && (others || hasUse);
}

export function requestOf(form: Form): NewSecret {
  const { name, scope, pipelineId, environment, description, user, host, rules } = form;
  const policy = policyOf(user === "checkout" ? rules : { ...rules, repositories: "" }, scope);
  return {
    name,
    pipelineId: scope === "organization" ? undefined : pipelineId,
    environment: scope === "environment" ? environment.trim() : undefined,
    description: description.trim() || undefined,
    policy: policy ?? undefined,
    use: user === "steps" ? undefined : { kind: user, host: host.trim() },
  };
}

export type EditForm = { description: string; rules: Rules };

export function editFormOf({ description, policy }: Secret): EditForm {
  return { description: description ?? "", rules: rulesOf(policy) };
}

/** Only what has changed is sent. */
export function changeOf(secret: Secret, form: EditForm): SecretChange {
  const description = form.description.trim() || null;
  const policy = policyOf(form.rules, secret.scope);
  const old = policyOf(rulesOf(secret.policy), secret.scope);
  return {
    ...(description === (secret.description ?? null) ? {} : { description }),
    ...(JSON.stringify(policy) === JSON.stringify(old) ? {} : { policy }),
  };
}

/** Whether it fetches every repository of its host for several pipelines, which the server warns of. */
export function isForAllRepositories({ scope, use, policy }: Secret): boolean {
  const named = policy.repositories ?? [];
  const isForAll = named.length === 0 || named.some((pattern) => !pattern.includes("/"));
  return scope === "organization" && use?.kind === "checkout" && isForAll;
}

function rulesOf({ pipelines, environments, branches, pools, repositories }: SecretPolicy): Rules {
  const text = (names: readonly string[] | null | undefined) => (names ?? []).join(", ");
  return {
    pipelines: pipelines ?? [],
    environments: text(environments),
    branches: text(branches),
    pools: text(pools),
    repositories: text(repositories),
  };
}

/** `null` if there is no rule. */
function policyOf(rules: Rules, scope: Secret["scope"]): SecretPolicy | null {
  const policy: SecretPolicy = {};
  if (scope === "organization" && rules.pipelines.length > 0) policy.pipelines = rules.pipelines.toSorted();
  for (const rule of ["environments", "branches", "pools", "repositories"] as const) {
    const names = namesOf(rules[rule]);
    if (names.length > 0) policy[rule] = names;
  }
  return Object.keys(policy).length > 0 ? policy : null;
}

/** Each name once, sorted, as the server keeps them. */
function namesOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))].toSorted();
}

/** What the server says of names that match nothing yet; nothing if all of them do. */
export function warningText(warnings: readonly { message: string }[]): string | undefined {
  return warnings.map(({ message }) => message).join(" · ") || undefined;
}
