import { expect, test } from "vitest";
import { paths, safeReturn } from "./paths";

const environment = { org: "acme", pipeline: "storefront", env: "qa-1" };

test("every address", () => {
  expect({
    signIn: paths.signIn("/o/acme?q=a b"),
    home: paths.home("acme"),
    environments: paths.environments("acme", { q: "qa", state: "free", label: "" }),
    pipelines: paths.pipelines("acme", { status: "stopped" }),
    newPipeline: paths.newPipeline("acme"),
    pipeline: paths.pipeline("acme", "storefront"),
    pipelineDeployments: paths.pipelineDeployments("acme", "storefront"),
    pipelineDefinition: paths.pipelineDefinition("acme", "storefront"),
    pipelineSettings: paths.pipelineSettings("acme", "storefront"),
    environment: paths.environment(environment, { range: "7d" }),
    lasting: paths.lasting("acme", { pipeline: "storefront", commit: "9f3c2a1" }),
    lastingEnvironment: paths.lastingEnvironment({ org: "acme", pipeline: "storefront", name: "production" }),
    session: paths.session(environment, "ses_1"),
    deployments: paths.deployments("acme", { env: "qa-1" }),
    deployment: paths.deployment("acme", "dep_1", { stage: "deploy", attempt: 2 }, { from: 10, to: 20 }),
    line: paths.deployment("acme", "dep_1", {}, { from: 10 }),
    failures: paths.failures("acme", { pipeline: "storefront", verdict: "flaky", since: "7d" }),
    failure: paths.failure("acme", "fp_1"),
    approvals: paths.approvals("acme", { whose: "all", status: "expired" }),
    approval: paths.approval("acme", "apr_1"),
    runners: paths.runners("acme"),
    stepRegistries: paths.stepRegistries("acme"),
    stepRegistry: paths.stepRegistry("acme", "reg_1"),
    registryStep: paths.registryStep({ org: "acme", registry: "reg_1", step: "roll-out" }, { version: "2.3.0" }),
    general: paths.general("acme"),
    members: paths.members("acme"),
    apiTokens: paths.apiTokens("acme"),
    secrets: paths.secrets("acme", { pipeline: "storefront" }),
    secret: paths.secret("acme", "sec_1"),
    freezes: paths.freezes("acme"),
    forges: paths.forges("acme"),
    analysisSettings: paths.analysisSettings("acme"),
    groups: paths.groups("acme"),
    group: paths.group("acme", "grp_1"),
    serviceAccounts: paths.serviceAccounts("acme"),
    serviceAccount: paths.serviceAccount("acme", "usr_1"),
  }).toEqual({
    signIn: "/sign-in?return=%2Fo%2Facme%3Fq%3Da+b",
    home: "/o/acme",
    environments: "/o/acme/environments?q=qa&state=free",
    pipelines: "/o/acme/pipelines?status=stopped",
    newPipeline: "/o/acme/pipelines/new",
    pipeline: "/o/acme/pipelines/storefront",
    pipelineDeployments: "/o/acme/pipelines/storefront/deployments",
    pipelineDefinition: "/o/acme/pipelines/storefront/definition",
    pipelineSettings: "/o/acme/pipelines/storefront/settings",
    environment: "/o/acme/pipelines/storefront/environments/qa-1?range=7d",
    lasting: "/o/acme/lasting?pipeline=storefront&commit=9f3c2a1",
    lastingEnvironment: "/o/acme/pipelines/storefront/lasting/production",
    session: "/o/acme/pipelines/storefront/environments/qa-1/sessions/ses_1",
    deployments: "/o/acme/deployments?env=qa-1",
    deployment: "/o/acme/deployments/dep_1?stage=deploy&attempt=2#L10-L20",
    line: "/o/acme/deployments/dep_1#L10",
    failures: "/o/acme/failures?pipeline=storefront&verdict=flaky&since=7d",
    failure: "/o/acme/failures/fp_1",
    approvals: "/o/acme/approvals?whose=all&status=expired",
    approval: "/o/acme/approvals/apr_1",
    runners: "/o/acme/runners",
    stepRegistries: "/o/acme/step-registries",
    stepRegistry: "/o/acme/step-registries/reg_1",
    registryStep: "/o/acme/step-registries/reg_1/steps/roll-out?version=2.3.0",
    general: "/o/acme/settings/general",
    members: "/o/acme/settings/members",
    apiTokens: "/o/acme/settings/api-tokens",
    secrets: "/o/acme/settings/secrets?pipeline=storefront",
    secret: "/o/acme/settings/secrets/sec_1",
    freezes: "/o/acme/settings/freezes",
    forges: "/o/acme/settings/forges",
    analysisSettings: "/o/acme/settings/analysis",
    groups: "/o/acme/settings/groups",
    group: "/o/acme/settings/groups/grp_1",
    serviceAccounts: "/o/acme/settings/service-accounts",
    serviceAccount: "/o/acme/settings/service-accounts/usr_1",
  });
});

test("a name cannot leave its part of the address", () => {
  expect(paths.pipeline("acme", "../../sign-in?x#y")).toBe("/o/acme/pipelines/..%2F..%2Fsign-in%3Fx%23y");
});

test.each([
  ["/o/acme?q=1#L2", "/o/acme?q=1#L2"],
  ["//evil.example", "/"],
  ["/\\evil.example", "/"],
  ["https://evil.example/", "/"],
  ["javascript:alert(1)", "/"],
  ["/\t/evil.example", "/"],
  [undefined, "/"],
])("after sign-in, %s leads to %s", (value, expected) => {
  expect(safeReturn(value, "https://greenroom.example")).toBe(expected);
});
