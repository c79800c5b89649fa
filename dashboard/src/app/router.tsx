// All routes. Their patterns are those of `lib/paths.ts`. Each screen is loaded when it is opened.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import * as v from "valibot";
import { once } from "@/lib/lazily";
import { Crash, NoPage, NotThere } from "./Failures";
import { Organization } from "./Organization";
import { Profile } from "./Profile";
import { Root } from "./Root";
import { parseSearch, stringifySearch } from "./search";
import { Start } from "./Start";

/** A search parameter that is not a text counts as left out, so that no address can break a page. */
const text = v.fallback(v.optional(v.string()), undefined);

/** A screen, which is loaded when its route is opened. */
function page<Module extends object, Name extends keyof Module & string>(load: () => Promise<Module>, name: Name) {
  return lazyRouteComponent(once(load), name);
}

const root = createRootRoute({ component: Root, notFoundComponent: NoPage, errorComponent: Crash });

const start = createRoute({ getParentRoute: () => root, path: "/", component: Start });

const components = createRoute({
  getParentRoute: () => root,
  path: "/dev/ui",
  component: lazyRouteComponent(() => import("./dev/Components"), "Components"),
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: v.object({ return: text, error: text }),
  component: page(() => import("@/features/sign-in"), "SignIn"),
});

const profile = createRoute({
  getParentRoute: () => root,
  path: "/me",
  component: Profile,
});

const welcome = createRoute({
  getParentRoute: () => root,
  path: "/welcome",
  component: page(() => import("@/features/sign-in"), "Welcome"),
});

const setUp = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  component: page(() => import("@/features/sign-in"), "SetUp"),
});

const organization = createRoute({
  getParentRoute: () => root,
  path: "/o/$org",
  component: Organization,
  notFoundComponent: NotThere,
});

const pipelines = createRoute({
  getParentRoute: () => organization,
  path: "/pipelines",
  validateSearch: v.object({ q: text, status: text }),
  component: page(() => import("@/features/pipeline"), "PipelineList"),
});

const environments = createRoute({
  getParentRoute: () => organization,
  path: "/environments",
  validateSearch: v.object({ q: text, state: text, label: text, offset: text }),
  component: page(() => import("@/features/environment"), "AllBoard"),
});

const board = createRoute({
  getParentRoute: () => organization,
  path: "/pipelines/$pipeline",
  validateSearch: v.object({ q: text, state: text }),
  component: page(() => import("@/features/environment"), "Board"),
});

const environment = createRoute({
  getParentRoute: () => organization,
  path: "/pipelines/$pipeline/environments/$env",
  validateSearch: v.object({ range: text }),
  component: page(() => import("@/features/environment"), "EnvironmentPage"),
});

const lasting = createRoute({
  getParentRoute: () => organization,
  path: "/lasting",
  validateSearch: v.object({ pipeline: text, commit: text, offset: text }),
  component: page(() => import("@/features/lasting"), "LastingTable"),
});

const lastingEnvironment = createRoute({
  getParentRoute: () => organization,
  path: "/pipelines/$pipeline/lasting/$name",
  component: page(() => import("@/features/lasting"), "LastingPage"),
});

const general = createRoute({
  getParentRoute: () => organization,
  path: "/settings/general",
  component: page(() => import("@/features/organization"), "GeneralPage"),
});

const apiTokens = createRoute({
  getParentRoute: () => organization,
  path: "/settings/api-tokens",
  component: page(() => import("@/features/token"), "TokenPage"),
});

const secrets = createRoute({
  getParentRoute: () => organization,
  path: "/settings/secrets",
  validateSearch: v.object({ pipeline: text, offset: text }),
  component: page(() => import("@/features/secret"), "SecretList"),
});

const secret = createRoute({
  getParentRoute: () => organization,
  path: "/settings/secrets/$secret",
  component: page(() => import("@/features/secret"), "SecretPage"),
});

const freezes = createRoute({
  getParentRoute: () => organization,
  path: "/settings/freezes",
  component: page(() => import("@/features/freeze"), "FreezePage"),
});

const session = createRoute({
  getParentRoute: () => organization,
  path: "/pipelines/$pipeline/environments/$env/sessions/$session",
  component: page(() => import("@/features/session"), "SessionPage"),
});

const deployments = createRoute({
  getParentRoute: () => organization,
  path: "/deployments",
  validateSearch: v.object({ status: text, env: text, commit: text, offset: text }),
  component: page(() => import("@/features/deployment"), "DeploymentList"),
});

const deployment = createRoute({
  getParentRoute: () => organization,
  path: "/deployments/$id",
  validateSearch: v.object({ stage: text, step: text }),
  component: page(() => import("@/features/deployment"), "DeploymentPage"),
});

const failures = createRoute({
  getParentRoute: () => organization,
  path: "/failures",
  validateSearch: v.object({ pipeline: text, verdict: text, since: text, offset: text }),
  component: page(() => import("@/features/failure"), "FailureList"),
});

const failure = createRoute({
  getParentRoute: () => organization,
  path: "/failures/$fingerprint",
  component: page(() => import("@/features/failure"), "FailurePage"),
});

const home = createRoute({
  getParentRoute: () => organization,
  path: "/",
  component: page(() => import("@/features/home"), "Home"),
});

const runners = createRoute({
  getParentRoute: () => organization,
  path: "/runners",
  component: page(() => import("@/features/runner"), "RunnerPage"),
});

const stepRegistries = createRoute({
  getParentRoute: () => organization,
  path: "/step-registries",
  validateSearch: v.object({ offset: text }),
  component: page(() => import("@/features/step-registry"), "RegistryList"),
});

const stepRegistry = createRoute({
  getParentRoute: () => organization,
  path: "/step-registries/$registry",
  validateSearch: v.object({ offset: text }),
  component: page(() => import("@/features/step-registry"), "RegistryPage"),
});

const registryStep = createRoute({
  getParentRoute: () => organization,
  path: "/step-registries/$registry/steps/$step",
  validateSearch: v.object({ view: text, version: text, from: text, offset: text }),
  component: page(() => import("@/features/step-registry"), "StepPage"),
});

const forges = createRoute({
  getParentRoute: () => organization,
  path: "/settings/forges",
  component: page(() => import("@/features/forge"), "ForgePage"),
});

const analysisSettings = createRoute({
  getParentRoute: () => organization,
  path: "/settings/analysis",
  component: page(() => import("@/features/analysis-settings"), "SettingsPage"),
});

const members = createRoute({
  getParentRoute: () => organization,
  path: "/settings/members",
  component: page(() => import("@/features/member"), "MemberPage"),
});

const approvals = createRoute({
  getParentRoute: () => organization,
  path: "/approvals",
  validateSearch: v.object({ whose: text, status: text, offset: text }),
  component: page(() => import("@/features/approval"), "ApprovalList"),
});

const approval = createRoute({
  getParentRoute: () => organization,
  path: "/approvals/$id",
  component: page(() => import("@/features/approval"), "ApprovalPage"),
});

const groups = createRoute({
  getParentRoute: () => organization,
  path: "/settings/groups",
  component: page(() => import("@/features/group"), "GroupList"),
});

const group = createRoute({
  getParentRoute: () => organization,
  path: "/settings/groups/$group",
  component: page(() => import("@/features/group"), "GroupPage"),
});

const serviceAccounts = createRoute({
  getParentRoute: () => organization,
  path: "/settings/service-accounts",
  component: page(() => import("@/features/service-account"), "AccountList"),
});

const serviceAccount = createRoute({
  getParentRoute: () => organization,
  path: "/settings/service-accounts/$account",
  component: page(() => import("@/features/service-account"), "AccountPage"),
});

const pipelineSettings = createRoute({
  getParentRoute: () => organization,
  path: "/pipelines/$pipeline/settings",
  component: page(() => import("@/features/grant"), "PipelineSettings"),
});

const routes = root.addChildren([
  start,
  signIn,
  welcome,
  setUp,
  profile,
  components,
  organization.addChildren([
    home,
    environments,
    pipelines,
    board,
    environment,
    lasting,
    lastingEnvironment,
    session,
    deployments,
    deployment,
    failures,
    failure,
    approvals,
    approval,
    pipelineSettings,
    stepRegistries,
    forges,
    analysisSettings,
    stepRegistry,
    registryStep,
    runners,
    general,
    members,
    apiTokens,
    secrets,
    secret,
    freezes,
    groups,
    group,
    serviceAccounts,
    serviceAccount,
  ]),
]);

export const router = createRouter({
  routeTree: routes,
  parseSearch,
  stringifySearch,
  defaultPreload: false,
  scrollRestoration: true,
  defaultNotFoundComponent: NotThere,
  defaultErrorComponent: Crash,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
