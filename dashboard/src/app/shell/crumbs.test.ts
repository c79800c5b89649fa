import { expect, test } from "vitest";
import { crumbsOf, pipelineOf, registryOf } from "./crumbs";

const unknown = () => undefined;
const labels = (pathname: string, name: Parameters<typeof crumbsOf>[1] = unknown) =>
  crumbsOf(pathname, name).map(({ label }) => label);

test("breadcrumbs follow the address", () => {
  expect(labels("/o/acme/pipelines/storefront/environments/qa-1")).toEqual([
    "acme",
    "Pipelines",
    "storefront",
    "Environments",
    "qa-1",
  ]);
  expect(labels("/o/acme/settings/api-tokens")).toEqual(["acme", "Settings", "API Tokens"]);
  expect(labels("/o/acme/settings/secrets/sec_0190a0b0-0000-7000-8000-000000000001")).toEqual([
    "acme",
    "Settings",
    "Secrets",
    "sec_…00000001",
  ]);
  expect(labels("/dev/ui")).toEqual([]);
});

test("the pipeline of an address is known, and ids are short", () => {
  expect(pipelineOf("/o/acme/pipelines/shop/environments/qa-1")).toBe("shop");
  expect(pipelineOf("/o/acme/deployments/dep_1")).toBeUndefined();
  expect(labels("/o/acme/deployments/dep_0190a0b0-0000-7000-8000-000000000001")[2]).toBe("dep_…00000001");
});

test("known names are shown", () => {
  const name = (kind: string) => (kind === "org" ? "Acme" : "Storefront");
  expect(labels("/o/acme/pipelines/storefront", name)).toEqual(["Acme", "Pipelines", "Storefront"]);
});

test("the environments of a pipeline are on its own page", () => {
  expect(crumbsOf("/o/acme/pipelines/shop/environments/qa-1", unknown)[3]?.to).toBe("/o/acme/pipelines/shop");
});

test("the lasting environments of a pipeline are on the page of all", () => {
  const crumbs = crumbsOf("/o/acme/pipelines/shop/lasting/production", unknown);
  expect(crumbs.map(({ label }) => label)).toEqual(["acme", "Pipelines", "shop", "Lasting environments", "production"]);
  expect(crumbs[3]?.to).toBe("/o/acme/lasting?pipeline=shop");
  expect(crumbs[4]?.siblings).toEqual({ kind: "lasting", pipeline: "shop" });
});

test("a registry is shown by its name, and its steps are on its own page", () => {
  const name = (kind: string) => (kind === "registry" ? "platform" : undefined);
  const address = "/o/acme/step-registries/reg_0190a0b0-0000-7000-8000-000000000001/steps/roll-out";
  expect(labels(address, name)).toEqual(["acme", "Step registries", "platform", "Steps", "roll-out"]);
  expect(labels(address)[2]).toBe("reg_…00000001");
  expect(registryOf(address)).toBe("reg_0190a0b0-0000-7000-8000-000000000001");
  expect(crumbsOf(address, unknown)[3]?.to).toBe("/o/acme/step-registries/reg_0190a0b0-0000-7000-8000-000000000001");
});

test("settings and sessions have no page of their own", () => {
  expect(crumbsOf("/o/acme/settings/members", unknown)[1]?.to).toBe("/o/acme/settings/general");
  expect(crumbsOf("/o/acme/pipelines/shop/environments/qa-1/sessions/ses_1", unknown)[5]?.to).toBe(
    "/o/acme/pipelines/shop/environments/qa-1",
  );
});

test("each breadcrumb knows what stands beside it", () => {
  const kinds = (pathname: string) => crumbsOf(pathname, unknown).map(({ siblings }) => siblings?.kind);
  expect(kinds("/o/acme/pipelines/shop/environments/qa-1")).toEqual([
    "organizations",
    "sections",
    "pipelines",
    undefined,
    "environments",
  ]);
  expect(kinds("/o/acme/settings/members")).toEqual(["organizations", "sections", "settings"]);
  expect(kinds("/o/acme/deployments/dep_1")).toEqual(["organizations", "sections", undefined]);
});

test("an address that cannot be decoded is shown as it is", () => {
  expect(labels("/o/acme/pipelines/%E0%A4%A")).toEqual(["acme", "Pipelines", "%E0%A4%A"]);
});
