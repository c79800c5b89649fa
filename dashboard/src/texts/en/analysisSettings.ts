// Organization settings > failure analysis: the model that explains failures.
import { count } from "./number";
import { clock } from "./time";

type Budget = { used: number; limit: number | undefined };

export const settings = {
  title: "Failure analysis",
  intro:
    "Why a stage has failed is shown without a model. A model of your choice can explain it in words as well: any endpoint that is compatible with OpenAI's chat completions, or Anthropic's.",
  on: "On",
  off: "Off",
  sentTo: "Evidence of failures, with lines of their logs, is sent to",
  nothingSent: "Nothing is sent anywhere.",
  by: (model: string) => `Model ${model}. It is called when a person or an agent requests an explanation.`,

  enable: "Explain failures with a model",
  enableHint: (host: string | undefined) =>
    `Evidence of failures, with lines of their logs, is then sent to ${host ?? "the address below"}.`,
  protocol: "Protocol",
  protocols: { openai: "OpenAI-compatible", anthropic: "Anthropic" },
  address: "Address",
  addressHint: {
    openai: "Up to its version, such as https://api.openai.com/v1, or that of vLLM, llama.cpp, Ollama or a gateway",
    anthropic: "Up to its version: https://api.anthropic.com/v1",
  },
  model: "Model",
  modelHint: "The name that the provider has for it",
  key: "API key",
  keyHint: "It is sent to this address only, and is never shown again. Leave it empty if the endpoint needs none.",
  keyIsSet: "A key is set. What you enter replaces it; leave it empty to keep it.",
  keyIsRemoved: "The key is deleted when you save.",
  removeKey: "Delete the key: the endpoint needs none",

  limits: "Limits",
  limitsHint: "An empty limit is none. A call that could exceed a limit is not made. Days and months are those of UTC.",
  requestsPerDay: "Requests per day",
  tokensPerMonth: "Tokens per month",
  tokensHint: "Input and output together",
  costPerMonth: "Cost per month",
  costHint: "In the currency of the prices",
  inputPrice: "Price of a million tokens of input",
  outputPrice: "Price of a million tokens of output",
  priceHint: "Such as 0.25, in any currency",

  save: "Save",
  saved: "The settings were saved",
  reload: "Show the current settings",
  mistakes: {
    address: "Enter an address that begins with https://",
    model: "Enter the name of the model.",
    key: "A key has no spaces.",
    keyAgain: "Enter it again, or delete it: it is sent to one address only, and this is another one.",
    requestsPerDay: "Enter a whole number, or nothing for no limit.",
    tokensPerMonth: "Enter a whole number, or nothing for no limit.",
    costPerMonth: "Enter an amount such as 25 or 0.5, or nothing for no limit.",
    noPrices: "A limit of the cost needs at least one price.",
    inputPrice: "Enter an amount such as 0.25, a million at most.",
    outputPrice: "Enter an amount such as 0.25, a million at most.",
  },

  standing: "Status",
  budgets: { requests: "Requests today", tokens: "Tokens this month", cost: "Cost this month" },
  usedUp: "Used up",
  unlimited: "no limit",
  resets: (time: number, now: number) => `resets ${clock(time, now)}`,

  sentTitle: "What is sent",
  sent: [
    "the lines of the evidence, cleaned and masked once more",
    "titles of commits and names of files that were changed since the last good run",
    "the definition of the stage, and the verdict",
  ],
  notSent: "24 KiB at most. Never the rest of the log, a secret, a token or the id of a person.",
  readable: "Maintainers can read every byte: “What was sent” below the model's words in the panel of a failure.",
};

/** `12 of 200`, `12, no limit`. */
export function countText({ used, limit }: Budget): string {
  return limit === undefined ? `${count(used)}, ${settings.unlimited}` : `${count(used)} of ${count(limit)}`;
}

const MONEY = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const MICROS = 1_000_000;

/** `0.04 of 25.00`, and `less than 0.01`. */
export function costText({ used, limit }: Budget): string {
  return limit === undefined ? `${money(used)}, ${settings.unlimited}` : `${money(used)} of ${money(limit)}`;
}

function money(micros: number): string {
  return micros > 0 && micros < MICROS / 100 ? "less than 0.01" : MONEY.format(micros / MICROS);
}
