// The form of the model that explains failures: what is wrong in it, and its request. Pure.
import type { SettingsChange } from "@/api/analysisSettings";
import type { AnalysisSettings } from "@/api/types";
import { amountOf, microsOf } from "./money";

export const PROTOCOLS = ["openai", "anthropic"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

const ANTHROPIC = "https://api.anthropic.com/v1";

export type Form = {
  isEnabled: boolean;
  protocol: Protocol;
  address: string;
  model: string;
  /** Empty if it is not given: the server never returns it. */
  key: string;
  isKeyRemoved: boolean;
  /** An empty limit is none. */
  requestsPerDay: string;
  tokensPerMonth: string;
  costPerMonth: string;
  /** Of a million tokens. An empty price is zero. */
  inputPrice: string;
  outputPrice: string;
};

export type Mistake =
  | "address"
  | "model"
  | "key"
  | "keyAgain"
  | "requestsPerDay"
  | "tokensPerMonth"
  | "costPerMonth"
  | "noPrices"
  | "inputPrice"
  | "outputPrice";

/** A newer server may have others. */
export function isProtocol(protocol: string | null | undefined): protocol is Protocol {
  return PROTOCOLS.some((known) => known === protocol);
}

export function formOf(settings: AnalysisSettings): Form {
  return {
    isEnabled: settings.enabled,
    protocol: isProtocol(settings.protocol) ? settings.protocol : "openai",
    address: settings.address ?? "",
    model: settings.model ?? "",
    key: "",
    isKeyRemoved: false,
    requestsPerDay: textOf(settings.maxRequestsPerDay),
    tokensPerMonth: textOf(settings.maxTokensPerMonth),
    costPerMonth: typeof settings.maxCostMicrosPerMonth === "number" ? amountOf(settings.maxCostMicrosPerMonth) : "",
    inputPrice: settings.inputPriceMicros > 0 ? amountOf(settings.inputPriceMicros) : "",
    outputPrice: settings.outputPriceMicros > 0 ? amountOf(settings.outputPriceMicros) : "",
  };
}

const textOf = (limit: number | null | undefined): string => (typeof limit === "number" ? String(limit) : "");

/** The address of Anthropic is the same for everybody, and is not kept for another protocol. */
export function withProtocol(form: Form, protocol: Protocol): Form {
  const address = addressOf(form);
  if (protocol === "anthropic" && address === "") return { ...form, protocol, address: ANTHROPIC };
  if (protocol !== "anthropic" && address === ANTHROPIC) return { ...form, protocol, address: "" };
  return { ...form, protocol };
}

/** A slash at the end changes nothing, for the server neither. */
const addressOf = ({ address }: Pick<Form, "address">): string => address.trim().replace(/\/+$/, "");

/** The host that gets the evidence; `undefined` if the address has none yet. */
export function hostOf(form: Pick<Form, "address">): string | undefined {
  const address = addressOf(form);
  return /^https?:\/\//i.test(address) && URL.canParse(address) ? new URL(address).hostname : undefined;
}

const MAX_LIMIT = 1_000_000_000_000_000;
const MAX_PRICE = 1_000_000_000_000;

export function mistakesOf(form: Form, settings: AnalysisSettings): Mistake[] {
  const mistakes: Mistake[] = [];
  const isNeeded = (before: string | null | undefined) => form.isEnabled || Boolean(before);
  // Which hosts may use http, the server knows.
  const address = addressOf(form);
  if (address === "" ? isNeeded(settings.address) : !/^https?:\/\/\S+$/.test(address)) mistakes.push("address");
  if (form.model.trim() === "" && isNeeded(settings.model)) mistakes.push("model");
  if (/\s/.test(form.key.trim())) mistakes.push("key");
  const isMoved = address !== (settings.address ?? "");
  if (isMoved && settings.hasCredential && form.key.trim() === "" && !form.isKeyRemoved) mistakes.push("keyAgain");
  for (const field of ["requestsPerDay", "tokensPerMonth"] as const)
    if (limitOf(form[field]) === undefined) mistakes.push(field);
  const cost = costOf(form);
  if (cost === undefined || (cost ?? 0) > MAX_LIMIT) mistakes.push("costPerMonth");
  for (const field of ["inputPrice", "outputPrice"] as const) {
    const price = priceOf(form[field]);
    if (price === undefined || price > MAX_PRICE) mistakes.push(field);
  }
  if (typeof cost === "number" && !priceOf(form.inputPrice) && !priceOf(form.outputPrice)) mistakes.push("noPrices");
  return mistakes;
}

/** `null`: no limit. `undefined`: not a whole number that the server takes. */
function limitOf(text: string): number | null | undefined {
  const digits = text.trim();
  if (digits === "") return null;
  return /^\d{1,16}$/.test(digits) && Number(digits) <= MAX_LIMIT ? Number(digits) : undefined;
}

const costOf = ({ costPerMonth }: Form): number | null | undefined =>
  costPerMonth.trim() === "" ? null : microsOf(costPerMonth);

const priceOf = (text: string): number | undefined => (text.trim() === "" ? 0 : microsOf(text));

/** Only what has changed is sent. The form has no mistakes. */
export function changeOf(settings: AnalysisSettings, form: Form): SettingsChange {
  const change: SettingsChange = {
    enabled: form.isEnabled,
    // A form that was not filled in names no protocol.
    protocol: addressOf(form) === "" ? undefined : form.protocol,
    address: addressOf(form) || undefined,
    model: form.model.trim() || undefined,
    maxRequestsPerDay: limitOf(form.requestsPerDay),
    maxTokensPerMonth: limitOf(form.tokensPerMonth),
    maxCostMicrosPerMonth: costOf(form),
    inputPriceMicros: priceOf(form.inputPrice),
    outputPriceMicros: priceOf(form.outputPrice),
  };
  const fields = Object.keys(change) as Exclude<keyof SettingsChange, "credential">[];
  for (const field of fields) if ((settings[field] ?? null) === change[field]) delete change[field];
  if (form.key.trim() !== "") change.credential = { token: form.key.trim() };
  else if (form.isKeyRemoved && settings.hasCredential) change.credential = null;
  return change;
}
