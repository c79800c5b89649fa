import { expect, test } from "vitest";
import type { StepRegistry } from "@/api/types";
import { changeOf, type Form, formOf, invalidSigner, lineOfSigner, mistakesOf, requestOf } from "./form";

const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
const good: Form = { ...formOf(), name: "acme", url: "https://git.example.com/acme/steps.git" };

const registry = {
  id: "reg_1",
  name: "acme",
  url: "https://git.example.com/acme/steps.git",
  signers: [`releases@example.com ${KEY}`],
  requireSignature: true,
  minimumAgeSeconds: 86_400,
  status: "active",
} as StepRegistry;

test("a registry needs a name and an address", () => {
  expect(mistakesOf(good)).toEqual([]);
  expect(mistakesOf(formOf())).toEqual(["name", "url"]);
  expect(mistakesOf({ ...good, name: "Acme", url: "git@example.com:acme/steps.git" })).toEqual(["name", "url"]);
});

test("who requires signatures has to name signers", () => {
  expect(mistakesOf({ ...good, requiresSignature: true, signers: "\n# none yet\n" })).toEqual(["signersMissing"]);
  expect(mistakesOf({ ...good, requiresSignature: true, signers: `a@example.com ${KEY}` })).toEqual([]);
});

test("empty lines and comments are no signers, and lines keep their numbers", () => {
  const form = { ...good, signers: `# of the platform team\n\n a@example.com ${KEY} \nnobody\n` };
  expect(requestOf(form).signers).toEqual([`a@example.com ${KEY}`, "nobody"]);
  expect(invalidSigner(form)).toBe(4);
  expect(lineOfSigner(form, 0)).toBe(3);
});

test("a signer is a name, perhaps with options, and a public key", () => {
  const invalid = (signers: string) => invalidSigner({ ...good, signers });
  expect(invalid(`a@example.com ${KEY} comment`)).toBeUndefined();
  expect(invalid(`a@example.com valid-after="20260101Z" ${KEY}`)).toBeUndefined();
  expect(invalid(KEY)).toBe(1);
  expect(invalid("a@example.com ssh-ed25519")).toBe(1);
});

test("the minimum age is a whole number of 90 days at most", () => {
  const age = (text: string, unit: Form["unit"]) => ({ ...good, age: text, unit });
  expect(requestOf(age("36", "hours")).minimumAgeSeconds).toBe(129_600);
  expect(requestOf(age("", "days")).minimumAgeSeconds).toBe(0);
  expect(mistakesOf(age("90", "days"))).toEqual([]);
  for (const wrong of [age("91", "days"), age("1.5", "hours"), age("-1", "days"), age("soon", "days")])
    expect(mistakesOf(wrong)).toEqual(["age"]);
});

test("an age is shown in the largest unit without a remainder", () => {
  const shown = (minimumAgeSeconds: number) => {
    const { age, unit } = formOf({ ...registry, minimumAgeSeconds });
    return `${age} ${unit}`;
  };
  expect([0, 86_400, 5_400, 90, 3_601].map(shown)).toEqual([
    "0 days",
    "1 days",
    "90 minutes",
    "90 seconds",
    "3601 seconds",
  ]);
});

test("a change contains only what differs", () => {
  const form = formOf(registry);
  expect(changeOf(registry, form)).toEqual({});
  expect(changeOf(registry, { ...form, name: "platform", age: "0" })).toEqual({
    name: "platform",
    minimumAgeSeconds: 0,
  });
  expect(changeOf(registry, { ...form, signers: "", requiresSignature: false })).toEqual({
    signers: [],
    requireSignature: false,
  });
});

test("a credential is sent only if it is entered, and again for another address", () => {
  const set = { ...registry, hasCredential: true };
  const form = formOf(set);
  expect(mistakesOf(form, set)).toEqual([]);
  expect(changeOf(set, form)).toEqual({});
  expect(mistakesOf({ ...form, username: "bot" }, set)).toEqual(["credential"]);
  const moved = { ...form, url: "https://other.example.com/steps.git" };
  expect(mistakesOf(moved, set)).toEqual(["credentialAgain"]);
  expect(mistakesOf(moved, registry)).toEqual([]);
  expect(changeOf(set, { ...moved, password: "x" })).toEqual({ url: moved.url, credential: { password: "x" } });
  expect(changeOf(set, { ...form, username: " bot ", password: "x" })).toEqual({
    credential: { username: "bot", password: "x" },
  });
  expect(mistakesOf({ ...moved, isPublic: true }, set)).toEqual([]);
  expect(changeOf(set, { ...form, isPublic: true })).toEqual({ credential: null });
});
