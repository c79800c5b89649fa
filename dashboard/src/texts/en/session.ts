// One session.
import { clock } from "./time";

export const session = {
  title: (name: string) => `Session in ${name}`,
  deployments: "Deployments",
  noDeployments: "Nothing was deployed in it.",
  claimAgain: "Claim again",
  toEnvironment: "To the environment",
  give: "Give to",
  giveTitle: (env: string) => `Give ${env} to somebody`,
  giveText:
    "Your session ends and its deployments are canceled. The other member gets a full lease; nothing is torn down.",
  receiver: "To",
  nobody: "There is nobody else who can hold it.",
  given: (env: string, who: string) => `${who} has ${env} now`,
  end: "End it",
  endTitle: (who: string) => `End the session of ${who}?`,
  endText: (who: string, env: string) =>
    `${who} loses ${env}, and deployments in it are canceled. Ask first, if there is time.`,
  accept: "Hand it over",
  decline: "Keep it",
  accepted: "It was handed over",
  declined: "You keep it",
  facts: "Facts",
  holder: "Holder",
  claimed: "Claimed",
  ends: "Ends",
  atMost: "At most until",
  ended: "Ended",
  purpose: "What for",
  askedAccept: (who: string, env: string, context: string | null | undefined, due: number, now: number) =>
    `${who} asks for ${env}${context ? `: “${context}”` : ""}. Yours until ${clock(due, now)} unless you decline.`,
  askedLapse: (who: string, env: string, context: string | null | undefined) =>
    `${who} asks for ${env}${context ? `: “${context}”` : ""}. Nothing happens if you don't answer.`,
  takenOver: (who: string, at: string, reason: string | null | undefined) =>
    `Taken over by ${who} at ${at}${reason ? `: “${reason}”` : ""}.`,
  endings: {
    released: (at: string) => `Released at ${at}.`,
    expired: (at: string) => `Expired at ${at}.`,
    overridden: (at: string) => `Taken over at ${at}.`,
    canceled: (at: string) => `Canceled at ${at}.`,
  } as Record<string, (at: string) => string>,
  declinedNotice: (who: string, context: string | null | undefined) =>
    context ? `${who} declined to hand it over: “${context}”.` : `${who} declined to hand it over.`,
};
