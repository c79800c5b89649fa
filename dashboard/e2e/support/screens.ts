// All screens of the demo, for the tests that look at each of them.
import { type Api, PIPELINE_PREFIX } from "./api";
import type { Person, Stack } from "./stack";

export type Screen = { name: string; person: Person | undefined; path: string };

type Pipeline = { id: string; slug: string };
type Environment = { envName: string; lock: { status: string; sessionId?: string; holder?: { id: string } } };
type Lasting = { name: string; pipelineSlug: string; live?: object };
type Secret = { id: string; name: string };
type Read = { deploymentId: string };
type Named = { id: string; name: string };
type Approval = { id: string; status: string; deploymentId: string };
type Failure = { deploymentId: string; fingerprint?: string };
type Deployment = { id: string; status: string; pipeline: string };

/** Looks in the demo for one record of each kind. A screen whose record is missing is left out. */
export async function screensOf(stack: Stack, api: Api): Promise<Screen[]> {
  const at = `/o/${stack.org}`;
  const all = await api.get<Pipeline[]>("/pipelines?limit=100&status=active");
  const pipelines = all.filter(({ slug }) => !slug.startsWith(PIPELINE_PREFIX));
  const boards = await Promise.all(
    pipelines.map(async ({ slug }) => ({
      slug,
      environments: await api.get<Environment[]>(`/pipelines/${slug}/ephemeral-environments`),
    })),
  );
  boards.sort((a, b) => held(b.environments) - held(a.environments) || b.environments.length - a.environments.length);
  const board = boards[0];
  if (!board) throw new Error("the demo has no pipeline");
  const pipeline = `${at}/pipelines/${board.slug}`;
  const environment = board.environments.find(({ lock }) => lock.status === "locked") ?? board.environments[0];
  const { userId } = await api.get<{ userId: string }>("/me", "developer");
  const own = board.environments.find(({ lock }) => lock.holder?.id === userId);
  const listed = await api.get<Deployment[]>("/deployments?limit=100");
  const deployments = listed.filter(({ pipeline: slug }) => !slug.startsWith(PIPELINE_PREFIX));
  const failed = deployments.find(({ status }) => status === "failed");
  const secrets = await api.get<Secret[]>("/secrets?limit=100");
  const secret = secrets.find(({ name }) => name === "shop-deploy-key");
  const read = secret && (await api.get<Read[]>(`/secrets/${secret.id}/reads?limit=1`))[0];
  const lasting = (await api.get<Lasting[]>("/environments?limit=100")).find(({ live }) => live);
  const group = (await api.get<Named[]>("/groups?limit=100")).find(({ name }) => !name.startsWith(PIPELINE_PREFIX));
  const account = (await api.get<Named[]>("/service-accounts?limit=100")).find(
    ({ name }) => !name.startsWith(PIPELINE_PREFIX),
  );
  const step = await findStep(api);
  const demo = new Set(deployments.map(({ id }) => id));
  const pending = await api.get<Approval[]>("/approvals?status=pending&limit=100");
  const approval = pending.find(({ deploymentId }) => demo.has(deploymentId));
  const failures = await api.get<Failure[]>("/failures?limit=100");
  const failure = failures.find(({ deploymentId, fingerprint }) => fingerprint && demo.has(deploymentId));
  const good = deployments.find(({ status }) => status === "succeeded");
  const screens: (Screen | undefined)[] = [
    { name: "sign-in", person: undefined, path: "/sign-in" },
    { name: "welcome", person: undefined, path: "/welcome" },
    { name: "setup", person: undefined, path: "/setup" },
    { name: "home", person: "developer", path: at },
    { name: "environments", person: "developer", path: `${at}/environments` },
    { name: "pipelines", person: "developer", path: `${at}/pipelines` },
    { name: "board", person: "developer", path: pipeline },
    { name: "board-viewer", person: "viewer", path: pipeline },
    { name: "board-no-match", person: "developer", path: `${pipeline}?q=nothing-has-this-name` },
    environment && {
      name: "environment",
      person: "developer",
      path: `${pipeline}/environments/${environment.envName}`,
    },
    environment?.lock.sessionId
      ? {
          name: "session",
          person: "developer",
          path: `${pipeline}/environments/${environment.envName}/sessions/${environment.lock.sessionId}`,
        }
      : undefined,
    own?.lock.sessionId
      ? {
          name: "session-own",
          person: "developer",
          path: `${pipeline}/environments/${own.envName}/sessions/${own.lock.sessionId}`,
        }
      : undefined,
    { name: "deployments", person: "developer", path: `${at}/deployments` },
    good && { name: "deployment", person: "developer", path: `${at}/deployments/${good.id}` },
    failed && { name: "deployment-failed", person: "developer", path: `${at}/deployments/${failed.id}` },
    { name: "failures", person: "developer", path: `${at}/failures` },
    { name: "failures-no-match", person: "viewer", path: `${at}/failures?pipeline=there-is-none` },
    failure && { name: "failure", person: "developer", path: `${at}/failures/${failure.fingerprint}` },
    { name: "approvals", person: "maintainer", path: `${at}/approvals` },
    { name: "approvals-all", person: "developer", path: `${at}/approvals?whose=all` },
    approval && { name: "approval", person: "maintainer", path: `${at}/approvals/${approval.id}` },
    approval && {
      name: "deployment-approval",
      person: "maintainer",
      path: `${at}/deployments/${approval.deploymentId}`,
    },
    { name: "lasting", person: "developer", path: `${at}/lasting` },
    { name: "lasting-no-match", person: "developer", path: `${at}/lasting?commit=0000000` },
    lasting && {
      name: "lasting-environment",
      person: "developer",
      path: `${at}/pipelines/${lasting.pipelineSlug}/lasting/${lasting.name}`,
    },
    { name: "freezes", person: "admin", path: `${at}/settings/freezes` },
    { name: "forges", person: "admin", path: `${at}/settings/forges` },
    { name: "forges-refused", person: "developer", path: `${at}/settings/forges` },
    { name: "analysis-settings", person: "admin", path: `${at}/settings/analysis` },
    { name: "analysis-settings-refused", person: "developer", path: `${at}/settings/analysis` },
    { name: "step-registries", person: "admin", path: `${at}/step-registries` },
    ...(step ? stepScreens(`${at}/step-registries/${step.registry}`, step.name) : []),
    { name: "runners", person: "admin", path: `${at}/runners` },
    { name: "runners-refused", person: "developer", path: `${at}/runners` },
    { name: "members", person: "admin", path: `${at}/settings/members` },
    { name: "groups", person: "admin", path: `${at}/settings/groups` },
    group && { name: "group", person: "admin", path: `${at}/settings/groups/${group.id}` },
    { name: "service-accounts", person: "admin", path: `${at}/settings/service-accounts` },
    account && { name: "service-account", person: "admin", path: `${at}/settings/service-accounts/${account.id}` },
    { name: "pipeline-settings", person: "admin", path: `${pipeline}/settings` },
    { name: "api-tokens", person: "developer", path: `${at}/settings/api-tokens` },
    { name: "secrets", person: "admin", path: `${at}/settings/secrets` },
    { name: "secrets-refused", person: "viewer", path: `${at}/settings/secrets` },
    secret && { name: "secret", person: "admin", path: `${at}/settings/secrets/${secret.id}` },
    secret && { name: "secret-developer", person: "developer", path: `${at}/settings/secrets/${secret.id}` },
    read && { name: "deployment-secrets", person: "admin", path: `${at}/deployments/${read.deploymentId}` },
    { name: "general", person: "admin", path: `${at}/settings/general` },
    { name: "profile", person: "developer", path: "/me" },
    { name: "not-there", person: "developer", path: `${at}/pipelines/there-is-none` },
    { name: "components", person: undefined, path: "/dev/ui" },
  ];
  return screens.filter((screen) => screen !== undefined);
}

/** A step of a registry that the tests have not made. */
async function findStep(api: Api): Promise<{ registry: string; name: string } | undefined> {
  for (const { id, name } of await api.get<Named[]>("/step-registries?limit=100")) {
    if (name.startsWith(PIPELINE_PREFIX)) continue;
    const [step] = await api.get<{ name: string }[]>(`/step-registries/${id}/steps?limit=1`);
    if (step) return { registry: id, name: step.name };
  }
  return undefined;
}

function stepScreens(registry: string, step: string): Screen[] {
  const path = `${registry}/steps/${step}`;
  const views = ["versions", "usage", "changes"].map((view): Screen => {
    return { name: `registry-step-${view}`, person: "admin", path: `${path}?view=${view}` };
  });
  return [
    { name: "step-registry", person: "admin", path: registry },
    { name: "registry-step", person: "admin", path },
    ...views,
  ];
}

/**
 * The screens of one part of the run: `GREENROOM_A11Y_PART=2/4` is every fourth screen, from the second one on. All
 * screens if it is not set.
 */
export function partOf(screens: readonly Screen[]): Screen[] {
  const [part, parts] = (process.env.GREENROOM_A11Y_PART || "1/1").split("/").map(Number);
  if (!part || !parts || part > parts) throw new Error("GREENROOM_A11Y_PART is not a part, such as 2/4");
  return screens.filter((_, index) => index % parts === part - 1);
}

export type Group = { person: Person | undefined; screens: Screen[] };

/** The screens by who looks at them, so that one browser opens all of a person's. */
export function byPerson(screens: readonly Screen[]): Group[] {
  const groups: Group[] = [];
  for (const screen of screens) {
    const group = groups.find(({ person }) => person === screen.person);
    if (group) group.screens.push(screen);
    else groups.push({ person: screen.person, screens: [screen] });
  }
  return groups;
}

function held(environments: readonly Environment[]): number {
  return environments.filter(({ lock }) => lock.status === "locked").length;
}
