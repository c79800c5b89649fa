// Where the stack is, and who is in it. The variables come from `dev/stack up --demo --json`.
import { execFileSync } from "node:child_process";

export type Person = "viewer" | "developer" | "secondDeveloper" | "maintainer" | "admin" | "owner";

export const PEOPLE: readonly Person[] = ["viewer", "developer", "secondDeveloper", "maintainer", "admin", "owner"];

export type Stack = {
  /** The dashboard's address, without a slash at its end. */
  dashboard: string;
  /** The API's address, with `/api/v1`. */
  api: string;
  org: string;
  tokens: Record<Person, string>;
  /** A command that prints a sign-in link as JSON. The person's e-mail address is appended to it. */
  linkCommand: string[] | undefined;
};

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with cargo xtask ui`);
  return value;
}

export function stackOf(): Stack {
  const dashboard = required("GREENROOM_DASHBOARD_URL").replace(/\/$/, "");
  const link = process.env.GREENROOM_SIGN_IN_COMMAND;
  return {
    dashboard,
    api: process.env.GREENROOM_API_URL ?? `${dashboard}/api/v1`,
    org: process.env.GREENROOM_ORGANIZATION ?? "acme",
    tokens: JSON.parse(required("GREENROOM_TOKENS")) as Stack["tokens"],
    linkCommand: link ? (JSON.parse(link) as string[]) : undefined,
  };
}

/** Makes a sign-in link as the operator does. Using it ends all other browser sessions of the person. */
export function signInLink(stack: Stack, address: string): string {
  const [program, ...rest] = stack.linkCommand ?? [];
  if (!program) throw new Error("GREENROOM_SIGN_IN_COMMAND is not set");
  const printed = execFileSync(program, [...rest, address], { encoding: "utf8" });
  return (JSON.parse(printed) as { url: string }).url;
}
