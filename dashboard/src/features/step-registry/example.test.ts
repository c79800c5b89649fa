import { expect, test } from "vitest";
import { parse } from "yaml";
import { exampleOf, referenceOf } from "./example";
import { type Input, type Manifest, readManifest } from "./manifest";

const empty: Manifest = { inputs: [], secrets: [], idTokens: [], outputs: [], image: "x", run: "" };
const input = (name: string, rest: Partial<Input> = {}): Input => ({
  name,
  type: "string",
  required: true,
  choices: [],
  ...rest,
});

test("the newest version is used by its major number, others exactly", () => {
  expect(referenceOf("acme", "roll-out", "2.3.0", true)).toBe("acme/roll-out@v2");
  expect(referenceOf("acme", "roll-out", "2.2.0", false)).toBe("acme/roll-out@v2.2.0");
  expect(referenceOf("acme", "roll-out", "2.3.0-rc.1", true)).toBe("acme/roll-out@v2.3.0-rc.1");
});

test("required entries come first, optional ones are comments", () => {
  const manifest: Manifest = {
    ...empty,
    inputs: [
      input("wait", { type: "boolean", required: false, default: false }),
      input("strategy", { choices: ["rolling"] }),
    ],
    secrets: [{ name: "DEPLOY_KEY", required: true }],
    idTokens: [{ name: "CLOUD_TOKEN", required: false }],
  };
  expect(exampleOf("roll-out", "acme/roll-out@v2", manifest)).toBe(`- name: roll-out
  uses: acme/roll-out@v2
  with:
    strategy: "rolling"
    # wait: false
  secrets:
    DEPLOY_KEY: "<secret for DEPLOY_KEY>"
  # idTokens:
    # CLOUD_TOKEN: "<audience of CLOUD_TOKEN>"`);
});

test("a step without inputs needs nothing but its name", () => {
  expect(exampleOf("lint", "acme/lint@v1", empty)).toBe("- name: lint\n  uses: acme/lint@v1");
});

test("every example is YAML with the values that it shows", () => {
  const hostile = 'a: "b" # c\n- d';
  const manifest: Manifest = {
    ...empty,
    inputs: [
      input("text", { default: hostile, required: true }),
      input("on", { type: "boolean" }),
      input("count", { type: "integer", minimum: -5 }),
      input("ratio", { type: "number", maximum: 0.5 }),
      input("region"),
    ],
  };
  const [step] = parse(exampleOf("x", "acme/x@v1", manifest)) as { with: object }[];
  expect(step?.with).toEqual({ text: hostile, on: true, count: -5, ratio: 0.5, region: "<region>" });
});

test("an example of a manifest that was read", () => {
  const manifest = readManifest("image: x\ninputs:\n  level: { type: integer, enum: [2, 4], required: true }\n");
  expect(manifest && exampleOf("gzip", "acme/gzip@v0", manifest)).toContain("    level: 2");
});
