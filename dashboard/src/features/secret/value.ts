// The value of a secret on its way from a form to a request. It is in no state of a component and in no cache.
import { NAMES } from "./fields";

export const MIN_CHARACTERS = 6;
export const MAX_BYTES = 65_536;

export type ValueMistake = "missing" | "short" | "long" | "nul" | "encoding";

export function mistakeIn(value: string): ValueMistake | undefined {
  if (value === "") return "missing";
  // The API counts characters as code points, and not as the UTF-16 units of `length`.
  if ([...value].length < MIN_CHARACTERS) return "short";
  if (new TextEncoder().encode(value).length > MAX_BYTES) return "long";
  return value.includes("\0") ? "nul" : undefined;
}

/** Returns the value once. React Query keeps the variables of a mutation: they contain this, and not the value. */
export type Take = () => string;

export function takeOnce(value: string): Take {
  let left = value;
  return () => {
    const taken = left;
    left = "";
    return taken;
  };
}

export type Entered = { take: Take; mistake?: undefined } | { mistake: ValueMistake };

/** Checks what was entered: the text, or the file if one was chosen. */
export async function entered(text: string, file: Blob | undefined): Promise<Entered> {
  // A file that is too large is not read.
  if (file && file.size > MAX_BYTES) return { mistake: "long" };
  let value = text;
  if (file) {
    try {
      // Without `ignoreBOM` the first three bytes of some files would be lost.
      value = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
    } catch {
      return { mistake: "encoding" };
    }
  }
  const mistake = mistakeIn(value);
  return mistake ? { mistake } : { take: takeOnce(value) };
}

/** Takes the value from a form with a `ValueField`. If it is sent now, its controls are emptied. */
export async function takeFrom(form: HTMLFormElement, isSent: boolean): Promise<Entered> {
  const controls = [NAMES.text, NAMES.file].map((name) => form.elements.namedItem(name));
  const [text, file] = controls as [HTMLTextAreaElement | null, HTMLInputElement | null];
  const result = await entered(text?.value ?? "", file?.files?.[0]);
  if (isSent && result.mistake === undefined) {
    if (text) text.value = "";
    if (file) file.value = "";
  }
  return result;
}
