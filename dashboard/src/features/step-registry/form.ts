// The form of a registry: what is wrong in it, and its requests. Pure.
import type { NewRegistry, RegistryChange } from "@/api/stepRegistry";
import type { StepRegistry } from "@/api/types";

const UNITS = { seconds: 1, minutes: 60, hours: 3_600, days: 86_400 } as const;

export type Unit = keyof typeof UNITS;
export const UNIT_NAMES = Object.keys(UNITS) as Unit[];

const MAX_AGE = 90 * UNITS.days;

export type Form = {
  name: string;
  url: string;
  /** One in each line. */
  signers: string;
  requiresSignature: boolean;
  age: string;
  unit: Unit;
  /** Empty if it is not given: the server never returns it. */
  username: string;
  password: string;
  /** The credential that is set is removed. */
  isPublic: boolean;
};

export type Mistake = "name" | "url" | "signersMissing" | "age" | "credential" | "credentialAgain";

export function formOf(registry?: StepRegistry): Form {
  return {
    name: registry?.name ?? "",
    url: registry?.url ?? "",
    signers: (registry?.signers ?? []).join("\n"),
    requiresSignature: registry?.requireSignature ?? false,
    ...ageOf(registry?.minimumAgeSeconds ?? 0),
    username: "",
    password: "",
    isPublic: false,
  };
}

/** In the largest unit that has no remainder. */
function ageOf(seconds: number): Pick<Form, "age" | "unit"> {
  if (seconds === 0) return { age: "0", unit: "days" };
  const unit = UNIT_NAMES.findLast((name) => seconds % UNITS[name] === 0) ?? "seconds";
  return { age: String(seconds / UNITS[unit]), unit };
}

const NAME = /^[a-z][a-z0-9-]{0,62}$/;

export function mistakesOf(form: Form, registry?: StepRegistry): Mistake[] {
  const mistakes: Mistake[] = [];
  if (!NAME.test(form.name)) mistakes.push("name");
  // Which hosts may use http, the server knows.
  if (!/^https?:\/\/\S+$/.test(form.url.trim())) mistakes.push("url");
  if (form.requiresSignature && signersOf(form).length === 0) mistakes.push("signersMissing");
  const seconds = secondsOf(form);
  if (seconds === undefined || seconds > MAX_AGE) mistakes.push("age");
  const isGiven = form.password !== "";
  if (form.username.trim() !== "" && !isGiven && !form.isPublic) mistakes.push("credential");
  // It is sent to one address only, so the server wants it again for another one.
  else if (registry?.hasCredential && form.url.trim() !== registry.url && !isGiven && !form.isPublic)
    mistakes.push("credentialAgain");
  return mistakes;
}

function credentialOf({ username, password }: Form): NewRegistry["credential"] {
  return password === "" ? undefined : { username: username.trim() || undefined, password };
}

function secondsOf({ age, unit }: Form): number | undefined {
  const text = age.trim() || "0";
  return /^\d{1,9}$/.test(text) ? Number(text) * UNITS[unit] : undefined;
}

type Signer = { text: string; line: number };

/** As in a file of `ssh-keygen`, empty lines and comments are left out. Lines are counted from 1. */
function signersOf({ signers }: Form): Signer[] {
  return signers
    .split("\n")
    .map((text, index) => ({ text: text.trim(), line: index + 1 }))
    .filter(({ text }) => text !== "" && !text.startsWith("#"));
}

/** A name, perhaps options, the type of the key, and the key. The server checks each of them. */
const SIGNER = /^\S+( \S+)* \S+ AAAA\S+/;

/** The number of the first line without a name and a public key. */
export function invalidSigner(form: Form): number | undefined {
  return signersOf(form).find(({ text }) => !SIGNER.test(text))?.line;
}

/** The number of the line that the server names by its position in the request. */
export function lineOfSigner(form: Form, position: number): number {
  return signersOf(form)[position]?.line ?? position + 1;
}

export function requestOf(form: Form): NewRegistry {
  return {
    name: form.name,
    url: form.url.trim(),
    signers: signersOf(form).map(({ text }) => text),
    requireSignature: form.requiresSignature,
    minimumAgeSeconds: secondsOf(form) ?? 0,
    credential: credentialOf(form),
  };
}

/** Only what has changed is sent. */
export function changeOf(registry: StepRegistry, form: Form): RegistryChange {
  const next = requestOf(form);
  const change: RegistryChange = {};
  if (next.name !== registry.name) change.name = next.name;
  if (next.url !== registry.url) change.url = next.url;
  if (JSON.stringify(next.signers) !== JSON.stringify(registry.signers)) change.signers = next.signers;
  if (next.requireSignature !== registry.requireSignature) change.requireSignature = next.requireSignature;
  if (next.minimumAgeSeconds !== registry.minimumAgeSeconds) change.minimumAgeSeconds = next.minimumAgeSeconds;
  if (form.isPublic) change.credential = null;
  else if (next.credential) change.credential = next.credential;
  return change;
}
