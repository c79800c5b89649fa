// Reads a step.yaml for its documentation. The server has checked it when it was published, so nothing is checked
// again: what this version does not know is left out, and a text that can't be read returns nothing. Pure.
import { parse } from "yaml";

export type Scalar = string | number | boolean;

export type Input = {
  name: string;
  type: string;
  required: boolean;
  description?: string;
  default?: Scalar;
  choices: Scalar[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
};

/** A secret or an id token that the step expects in a variable. */
export type Expected = { name: string; required: boolean; description?: string };

export type Output = { name: string; description?: string };

export type Manifest = {
  description?: string;
  inputs: Input[];
  secrets: Expected[];
  idTokens: Expected[];
  outputs: Output[];
  image: string;
  run: string;
};

/** The server's limit on aliases of a definition; more are refused there. */
const MAX_ALIASES = 100;

type Node = ReadonlyMap<unknown, unknown>;

export function readManifest(text: string): Manifest | undefined {
  const root = mapOf(parsed(text));
  const image = textOf(root?.get("image"));
  if (!root || image === undefined) return undefined;
  return {
    description: textOf(root.get("description")),
    inputs: entriesOf(root.get("inputs")).map(([name, node]) => inputOf(name, node)),
    secrets: entriesOf(root.get("secrets")).map(([name, node]) => expectedOf(name, node)),
    idTokens: entriesOf(root.get("idTokens")).map(([name, node]) => expectedOf(name, node)),
    outputs: entriesOf(root.get("outputs")).map(([name, node]) => ({
      name,
      description: textOf(node.get("description")),
    })),
    image,
    run: textOf(root.get("run")) ?? "",
  };
}

/** Maps keep the order of the file, and have no inherited keys. */
function parsed(text: string): unknown {
  try {
    return parse(text, { mapAsMap: true, merge: true, maxAliasCount: MAX_ALIASES, logLevel: "silent" });
  } catch {
    return undefined;
  }
}

function inputOf(name: string, node: Node): Input {
  const choices = node.get("enum");
  return {
    name,
    type: textOf(node.get("type")) ?? "",
    required: node.get("required") === true,
    description: textOf(node.get("description")),
    default: scalarOf(node.get("default")),
    choices: Array.isArray(choices) ? choices.map(scalarOf).filter((value) => value !== undefined) : [],
    pattern: textOf(node.get("pattern")),
    minLength: numberOf(node.get("minLength")),
    maxLength: numberOf(node.get("maxLength")),
    minimum: numberOf(node.get("minimum")),
    maximum: numberOf(node.get("maximum")),
  };
}

function expectedOf(name: string, node: Node): Expected {
  return { name, required: node.get("required") === true, description: textOf(node.get("description")) };
}

/** An entry without content, such as `DEPLOY_KEY:`, has no details. */
function entriesOf(value: unknown): [name: string, node: Node][] {
  return [...(mapOf(value) ?? [])].map(([name, node]) => [String(name), mapOf(node) ?? new Map()]);
}

function mapOf(value: unknown): Node | undefined {
  return value instanceof Map ? value : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function scalarOf(value: unknown): Scalar | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : undefined;
}
