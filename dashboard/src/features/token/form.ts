// The form of a new token: what each kind may have, and the request. Pure.
import type { NewToken } from "@/api/token";
import type { ApiToken } from "@/api/types";

export type Kind = ApiToken["kind"];
export type Scope = ApiToken["scopes"][number];
export type Expiry = "30" | "90" | "366" | "never";

export type Form = {
  name: string;
  kind: Kind;
  scopes: readonly Scope[];
  /** `undefined` for all. */
  pipelines: readonly string[] | undefined;
  allowForce: boolean;
  expiry: Expiry;
  /** Empty for any number. Only for tokens of service accounts. */
  maxSessions: string;
};

export const SCOPES: readonly Scope[] = ["read", "hold", "deploy", "start", "write", "admin"];
export const KINDS: readonly Kind[] = ["ci", "agent", "user"];

const MAX_SESSIONS = 1_000;

const DEFAULTS: Record<string, Pick<Form, "scopes" | "allowForce" | "expiry">> = {
  user: { scopes: SCOPES, allowForce: true, expiry: "90" },
  ci: { scopes: ["read", "hold", "deploy", "start"], allowForce: false, expiry: "90" },
  agent: { scopes: ["read", "hold", "deploy"], allowForce: false, expiry: "90" },
};

export function formOf(kind: Kind, old?: Form): Form {
  const base = { name: "", pipelines: undefined, maxSessions: "", ...old, kind };
  return { ...base, ...(DEFAULTS[kind] ?? DEFAULTS.agent!) };
}

export function mayHave(kind: Kind, scope: Scope): boolean {
  return scope !== "admin" || kind === "user";
}

export function expiriesOf(kind: Kind): Expiry[] {
  return kind === "user" ? ["30", "90", "366", "never"] : ["30", "90", "366"];
}

export type Mistake = "name" | "scopes" | "pipelines" | "maxSessions";

export function mistakesOf(form: Form): Mistake[] {
  const mistakes: Mistake[] = [];
  if (form.name.trim() === "") mistakes.push("name");
  if (form.scopes.length === 0) mistakes.push("scopes");
  if (form.pipelines?.length === 0) mistakes.push("pipelines");
  if (form.maxSessions.trim() !== "" && !isSessionLimit(Number(form.maxSessions))) mistakes.push("maxSessions");
  return mistakes;
}

function isSessionLimit(limit: number): boolean {
  return Number.isInteger(limit) && limit >= 1 && limit <= MAX_SESSIONS;
}

const DAY = 86_400_000;
/** A margin for the time until the server reads the request: 366 days is the most. */
const MARGIN = 60_000;

export function requestOf(form: Form, now: number): NewToken {
  return {
    name: form.name.trim(),
    kind: form.kind,
    scopes: SCOPES.filter((scope) => form.scopes.includes(scope) && mayHave(form.kind, scope)),
    pipelines: form.pipelines && [...form.pipelines],
    allowForce: form.allowForce,
    maxSessions: form.maxSessions.trim() === "" ? undefined : Number(form.maxSessions),
    expiresAt: form.expiry === "never" ? null : new Date(now + Number(form.expiry) * DAY - MARGIN).toISOString(),
  };
}
