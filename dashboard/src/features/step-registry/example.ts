// An example of a step in a definition, ready to copy: what is required with values to replace, what is optional as
// comments with its default. Pure.
import type { Expected, Input, Manifest, Scalar } from "./manifest";

/** `v2` for the newest version, so that updates of the same major version are found; else the exact version. */
export function referenceOf(registry: string, step: string, version: string, isNewest: boolean): string {
  const major = /^(\d+)\.\d+\.\d+$/.exec(version)?.[1];
  return `${registry}/${step}@v${isNewest && major ? major : version}`;
}

export function exampleOf(step: string, uses: string, manifest: Manifest): string {
  return [
    `- name: ${keyText(step)}`,
    `  uses: ${uses}`,
    ...block("with", manifest.inputs, inputValue),
    ...block("secrets", manifest.secrets, ({ name }) => placeholder(`secret for ${name}`)),
    ...block("idTokens", manifest.idTokens, ({ name }) => placeholder(`audience of ${name}`)),
  ].join("\n");
}

type Entry = Pick<Expected, "name" | "required" | "description">;

/** A key whose entries are all optional is a comment too: an empty map would not be valid. */
function block<Type extends Entry>(key: string, entries: readonly Type[], value: (entry: Type) => string): string[] {
  if (entries.length === 0) return [];
  const isNeeded = entries.some(({ required }) => required);
  const sorted = entries.toSorted((left, right) => Number(right.required) - Number(left.required));
  const lines = sorted.map((entry) => {
    const line = `${keyText(entry.name)}: ${value(entry)}`;
    return entry.required ? `    ${line}` : `    # ${line}`;
  });
  return [isNeeded ? `  ${key}:` : `  # ${key}:`, ...lines];
}

function inputValue(input: Input): string {
  if (input.default !== undefined) return scalarText(input.default);
  const [choice] = input.choices;
  if (choice !== undefined) return scalarText(choice);
  if (input.type === "boolean") return "true";
  if (input.type === "number" || input.type === "integer") return String(input.minimum ?? input.maximum ?? 1);
  return placeholder(input.name);
}

function placeholder(text: string): string {
  return scalarText(`<${text}>`);
}

/** A text of JSON is one of YAML too. */
export function scalarText(value: Scalar): string {
  return JSON.stringify(value);
}

/** Readers of older YAML take these for values. */
const AMBIGUOUS = /^(true|false|null|yes|no|on|off|y|n|~)$/i;

function keyText(name: string): string {
  return AMBIGUOUS.test(name) ? JSON.stringify(name) : name;
}
