// Describes the JSON Schema rules of an input as text. Pure.
import { step as texts } from "@/texts/en/registryStep";
import { scalarText } from "./example";
import type { Input } from "./manifest";

export type Allowed = {
  choices: string[];
  /** Ranges, of the value or of its length. */
  rules: string[];
};

/** A pattern is not among them, because it is shown as code. */
export function allowedOf(input: Input): Allowed {
  const value = range(input.minimum, input.maximum);
  const length = range(input.minLength, input.maxLength);
  return {
    choices: input.choices.map(scalarText),
    rules: [value, length && texts.characters(length)].filter((rule) => rule !== undefined),
  };
}

function range(minimum: number | undefined, maximum: number | undefined): string | undefined {
  if (minimum !== undefined && maximum !== undefined) return texts.range(String(minimum), String(maximum));
  if (minimum !== undefined) return texts.from(String(minimum));
  return maximum === undefined ? undefined : texts.to(String(maximum));
}
