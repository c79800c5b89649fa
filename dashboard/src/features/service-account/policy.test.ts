import { expect, test } from "vitest";
import { CI_SYSTEMS, mistakesOf, policyOf, requestOf } from "./policy";

test("each system begins with claims that pin an id and what of it is trusted", () => {
  for (const system of CI_SYSTEMS.filter((known) => known !== "other")) {
    const names = policyOf(system).claims.map(({ name }) => name);
    expect(names, system).toHaveLength(2);
    expect(names[0], system).toMatch(/_id$/);
  }
});

test("another system keeps the name and the pipelines", () => {
  const form = policyOf("gitlab", { ...policyOf("github"), name: "main", pipelines: ["pip_1"] });
  expect(form).toMatchObject({ name: "main", pipelines: ["pip_1"], issuer: "https://gitlab.com" });
});

test("mistakes are found before the request", () => {
  expect(mistakesOf(policyOf("other"))).toEqual(["name", "issuer", "claims", "pipelines"]);
  const claims = [
    { name: "sub", value: "a" },
    { name: "sub", value: "b" },
  ];
  const form = { ...policyOf("github"), name: "x", pipelines: ["pip_1"] };
  expect(mistakesOf({ ...form, claims })).toEqual(["claimTwice"]);
  expect(mistakesOf({ ...form, claims: [] })).toEqual(["claims"]);
  expect(mistakesOf({ ...form, claims: [{ name: "sub", value: "a" }], issuer: "http://ci.example" })).toEqual([
    "issuer",
  ]);
});

test("values of claims stay texts, because ids are texts in tokens of CI systems", () => {
  const form = { ...policyOf("github"), name: "x", pipelines: ["pip_1"] };
  const claims = [
    { name: "repository_id", value: "74" },
    { name: "ref", value: "refs/heads/main" },
  ];
  expect(requestOf({ ...form, claims })).toEqual({
    name: "x",
    issuer: "https://token.actions.githubusercontent.com",
    audience: undefined,
    claims: { repository_id: "74", ref: "refs/heads/main" },
    pipelines: ["pip_1"],
    ttlSeconds: 900,
  });
});
