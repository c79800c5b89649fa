import { expect, test } from "vitest";
import type { Secret } from "@/api/types";
import {
  changeOf,
  editFormOf,
  type Form,
  formOf,
  isForAllRepositories,
  mistakesOf,
  NO_RULES,
  requestOf,
  warningText,
} from "./form";

const good: Form = { ...formOf("pip_1"), name: "shop-deploy-key" };

const secret: Secret = {
  id: "sec_1",
  name: "shop-deploy-key",
  scope: "organization",
  policy: { pipelines: ["pip_1"], environments: ["pr-*", "qa-1"], branches: null, pools: null },
  activeVersion: 1,
  createdAt: "2026-01-01T00:00:00Z",
  createdBy: "usr_1",
  updatedAt: "2026-01-01T00:00:00Z",
};

test("a secret belongs to a pipeline unless another scope is chosen", () => {
  expect(requestOf(good)).toEqual({ name: "shop-deploy-key", pipelineId: "pip_1" });
  const ofEnvironment = requestOf({ ...good, scope: "environment", environment: " production " });
  expect(ofEnvironment).toMatchObject({ pipelineId: "pip_1", environment: "production" });
  expect(requestOf({ ...good, scope: "organization" })).toEqual({ name: "shop-deploy-key" });
});

test("names of rules are separated by commas or spaces, and each is sent once", () => {
  const rules = { ...NO_RULES, branches: "main, release main", pools: " default " };
  expect(requestOf({ ...good, rules }).policy).toEqual({ branches: ["main", "release"], pools: ["default"] });
});

test("only a secret of the whole organization names pipelines", () => {
  const rules = { ...NO_RULES, pipelines: ["pip_2", "pip_1"] };
  expect(requestOf({ ...good, rules }).policy).toBeUndefined();
  expect(requestOf({ ...good, scope: "organization", rules }).policy).toEqual({ pipelines: ["pip_1", "pip_2"] });
});

test("the platform uses a secret for one host", () => {
  expect(requestOf({ ...good, user: "checkout", host: "git.example.com" }).use).toEqual({
    kind: "checkout",
    host: "git.example.com",
  });
  expect(mistakesOf({ ...good, user: "registry" })).toEqual(["host"]);
});

test("a new checkout credential of the whole organization names its repositories", () => {
  const rules = { ...NO_RULES, pipelines: ["pip_1"] };
  const all: Form = { ...good, scope: "organization", user: "checkout", host: "git.test", rules };
  expect(mistakesOf(all)).toEqual(["repositories"]);
  const named: Form = { ...all, rules: { ...rules, repositories: "git.test/acme git.test/oss" } };
  expect(mistakesOf(named)).toEqual([]);
  expect(requestOf(named).policy).toEqual({
    pipelines: ["pip_1"],
    repositories: ["git.test/acme", "git.test/oss"],
  });
  expect(mistakesOf({ ...all, scope: "pipeline" })).toEqual([]);
  expect(requestOf({ ...named, user: "registry" }).policy).toEqual({ pipelines: ["pip_1"] });
});

test("a credential for every repository of a host is marked", () => {
  const credential: Secret = { ...secret, use: { kind: "checkout", host: "git.test" } };
  const only = (repositories: string[] | null) => ({ ...credential, policy: { ...secret.policy, repositories } });
  expect(isForAllRepositories(credential)).toBe(true);
  expect(isForAllRepositories(only(["git.test"]))).toBe(true);
  expect(isForAllRepositories(only(["git.test/acme"]))).toBe(false);
  expect(isForAllRepositories({ ...credential, scope: "pipeline" })).toBe(false);
  expect(isForAllRepositories(secret)).toBe(false);
});

test("mistakes are found before the request", () => {
  expect(mistakesOf(good)).toEqual([]);
  expect(mistakesOf({ ...formOf(), name: "Shop" })).toEqual(["name", "pipeline"]);
  expect(mistakesOf({ ...good, scope: "environment" })).toEqual(["environment"]);
  const rules = { ...NO_RULES, branches: "main" };
  expect(mistakesOf({ ...good, rules })).toEqual([]);
  expect(mistakesOf({ ...good, scope: "organization", rules })).toEqual(["pipelines"]);
});

test("a change contains only what differs", () => {
  const form = editFormOf(secret);
  expect(changeOf(secret, form)).toEqual({});
  expect(changeOf(secret, { ...form, description: "For tests" })).toEqual({ description: "For tests" });
  expect(changeOf(secret, { ...form, rules: { ...form.rules, environments: "" } })).toEqual({
    policy: { pipelines: ["pip_1"] },
  });
});

test("null removes the description and all rules", () => {
  const described = { ...secret, description: "For tests" };
  expect(changeOf(described, { description: " ", rules: NO_RULES })).toEqual({ description: null, policy: null });
});

test("warnings are one text, and none if all names match", () => {
  expect(warningText([])).toBeUndefined();
  expect(warningText([{ message: "`a` matches no pool yet" }, { message: "`b` too" }])).toBe(
    "`a` matches no pool yet · `b` too",
  );
});
