import { expect, test } from "vitest";
import { readManifest } from "./manifest";

const IMAGE = `registry.example.com/kubectl@sha256:${"a".repeat(64)}`;

const TEXT = `\uFEFF# Rolls out
name: roll-out
description: >
  Rolls a deployment out,
  and waits for it.
inputs:
  replicas: { type: integer, minimum: 1, maximum: 10, default: 2 }
  strategy:
    type: string
    enum: [rolling, "recreate", 'on']
    required: true
    description: "How: at once or one by one"
  wait: &wait
    type: boolean
    default: false
  verbose:
    <<: *wait
    description: Prints more
secrets:
  DEPLOY_KEY: { required: true, description: Of the cluster }
  OPTIONAL_KEY:
idTokens:
  CLOUD_TOKEN: {}
outputs:
  url: { description: Where it runs }
image: ${IMAGE}
run: |
  kubectl apply -f .
  kubectl wait
`;

test("a manifest is read in the order of the file", () => {
  const manifest = readManifest(TEXT);
  expect(manifest).toMatchObject({
    description: "Rolls a deployment out, and waits for it.\n",
    image: IMAGE,
    run: "kubectl apply -f .\nkubectl wait\n",
    secrets: [
      { name: "DEPLOY_KEY", required: true, description: "Of the cluster" },
      { name: "OPTIONAL_KEY", required: false },
    ],
    idTokens: [{ name: "CLOUD_TOKEN", required: false }],
    outputs: [{ name: "url", description: "Where it runs" }],
  });
  expect(manifest?.inputs.map(({ name }) => name)).toEqual(["replicas", "strategy", "wait", "verbose"]);
  const [replicas, strategy, , verbose] = manifest?.inputs ?? [];
  expect(replicas).toMatchObject({ type: "integer", minimum: 1, maximum: 10, default: 2, required: false });
  expect(strategy).toMatchObject({ choices: ["rolling", "recreate", "on"], required: true });
  expect(verbose).toMatchObject({ type: "boolean", default: false, description: "Prints more" });
});

test("a text that is no manifest returns nothing", () => {
  for (const text of ["", "a: [", "- a", "name: x", "image: [1]", "!!js/function x"])
    expect(readManifest(text)).toBeUndefined();
});

test("names of properties of objects are plain names", () => {
  const manifest = readManifest(
    `image: ${IMAGE}\ninputs:\n  __proto__: { type: string }\n  constructor: { type: string }\n`,
  );
  expect(manifest?.inputs.map(({ name }) => name)).toEqual(["__proto__", "constructor"]);
  expect(Object.keys(Object.prototype)).toEqual([]);
});

test("aliases that multiply are refused, not expanded", () => {
  const levels = Array.from({ length: 9 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at},`.repeat(9)}]`);
  const bomb = `image: ${IMAGE}\na0: &a0 [x]\n${levels.join("\n")}\n`;
  const started = Date.now();
  expect(readManifest(bomb)).toBeUndefined();
  expect(Date.now() - started).toBeLessThan(1_000);
});
