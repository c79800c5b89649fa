import { expect, test } from "vitest";
import type { AnalysisSettings } from "@/api/types";
import { changeOf, type Form, formOf, hostOf, mistakesOf, withProtocol } from "./form";

const usage = { day: "2026-11-18", requests: 0, month: "2026-11", tokens: 0, costMicros: 0 };

/** As of an organization that has no model yet. */
const none: AnalysisSettings = {
  enabled: false,
  protocol: null,
  address: null,
  host: null,
  model: null,
  hasCredential: false,
  maxRequestsPerDay: 200,
  maxTokensPerMonth: null,
  maxCostMicrosPerMonth: null,
  inputPriceMicros: 0,
  outputPriceMicros: 0,
  usage,
};

const set: AnalysisSettings = {
  ...none,
  enabled: true,
  protocol: "openai",
  address: "https://models.example/v1",
  host: "models.example",
  model: "m-1",
  hasCredential: true,
  maxCostMicrosPerMonth: 25_000_000,
  inputPriceMicros: 250_000,
};

const filled: Form = { ...formOf(none), isEnabled: true, address: "https://models.example/v1", model: "m-1" };

test("a model that is on needs an address and a name; a key is optional", () => {
  expect(mistakesOf(formOf(none), none)).toEqual([]);
  expect(mistakesOf({ ...formOf(none), isEnabled: true }, none)).toEqual(["address", "model"]);
  expect(mistakesOf(filled, none)).toEqual([]);
  expect(mistakesOf({ ...filled, address: "models.example/v1" }, none)).toEqual(["address"]);
  expect(mistakesOf({ ...filled, isEnabled: false, address: "ftp://x" }, none)).toEqual(["address"]);
  expect(mistakesOf({ ...filled, key: "a b" }, none)).toEqual(["key"]);
});

test("what was set once can't be emptied", () => {
  const emptied = { ...formOf(set), isEnabled: false, address: "", model: " " };
  expect(mistakesOf({ ...emptied, isKeyRemoved: true }, set)).toEqual(["address", "model"]);
});

test("another address needs the key again, or none", () => {
  const moved = { ...formOf(set), address: "https://other.example/v1" };
  expect(mistakesOf(moved, set)).toEqual(["keyAgain"]);
  expect(mistakesOf({ ...moved, key: "x" }, set)).toEqual([]);
  expect(mistakesOf({ ...moved, isKeyRemoved: true }, set)).toEqual([]);
  expect(mistakesOf({ ...formOf(set), address: "https://models.example/v1/" }, set)).toEqual([]);
  expect(mistakesOf(moved, { ...set, hasCredential: false })).toEqual([]);
});

test.each([
  [{ requestsPerDay: "-1" }, ["requestsPerDay"]],
  [{ requestsPerDay: "1.5" }, ["requestsPerDay"]],
  [{ tokensPerMonth: "1000000000000001" }, ["tokensPerMonth"]],
  [{ costPerMonth: "1,5", inputPrice: "1" }, ["costPerMonth"]],
  [{ costPerMonth: "5" }, ["noPrices"]],
  [{ costPerMonth: "5", outputPrice: "0.5" }, []],
  [{ inputPrice: "0.0000001" }, ["inputPrice"]],
  [{ outputPrice: "1000001" }, ["outputPrice"]],
  [{ requestsPerDay: " 0 ", tokensPerMonth: "" }, []],
] as const)("the mistakes of %j", (entered, expected) => {
  expect(mistakesOf({ ...filled, ...entered }, none)).toEqual(expected);
});

test("only what has changed is sent", () => {
  expect(changeOf(none, formOf(none))).toEqual({});
  expect(changeOf(set, formOf(set))).toEqual({});
  expect(changeOf(set, { ...formOf(set), address: "https://models.example/v1/" })).toEqual({});
  expect(changeOf(none, { ...filled, key: " k " })).toEqual({
    enabled: true,
    protocol: "openai",
    address: "https://models.example/v1",
    model: "m-1",
    credential: { token: "k" },
  });
  expect(changeOf(set, { ...formOf(set), isEnabled: false })).toEqual({ enabled: false });
  expect(changeOf(set, { ...formOf(set), isKeyRemoved: true })).toEqual({ credential: null });
});

test("an empty limit is none, an empty price is zero, and money is in millionths", () => {
  const form = { ...formOf(set), requestsPerDay: "", tokensPerMonth: "1000", costPerMonth: "", inputPrice: "" };
  expect(changeOf(set, form)).toEqual({
    maxRequestsPerDay: null,
    maxTokensPerMonth: 1_000,
    maxCostMicrosPerMonth: null,
    inputPriceMicros: 0,
  });
  expect(changeOf(set, { ...formOf(set), costPerMonth: "0.07", outputPrice: "2" })).toEqual({
    maxCostMicrosPerMonth: 70_000,
    outputPriceMicros: 2_000_000,
  });
  expect([formOf(set).costPerMonth, formOf(set).inputPrice, formOf(set).outputPrice]).toEqual(["25", "0.25", ""]);
});

test("the address of Anthropic is filled in, and not kept for another protocol", () => {
  const anthropic = withProtocol(formOf(none), "anthropic");
  expect(anthropic.address).toBe("https://api.anthropic.com/v1");
  expect(withProtocol(anthropic, "openai").address).toBe("");
  expect(withProtocol(filled, "anthropic").address).toBe("https://models.example/v1");
});

test("the host that gets the evidence", () => {
  expect(hostOf({ address: " https://models.example:8443/v1/ " })).toBe("models.example");
  expect(hostOf({ address: "https://" })).toBeUndefined();
  expect(hostOf({ address: "javascript:alert(1)" })).toBeUndefined();
});
