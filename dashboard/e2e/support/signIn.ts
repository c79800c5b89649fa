// Signs all people in once, before the first test, each with an own link. The tests start with the cookies.
import { chromium, type FullConfig } from "@playwright/test";
import { mkdirSync } from "node:fs";
import { Api } from "./api";
import { PEOPLE, type Person, type Stack, signInLink, stackOf } from "./stack";

export const stateFile = (person: Person) => `test-results/.state/${person}.json`;

export default async function signInAll(config: FullConfig): Promise<void> {
  const stack = stackOf();
  if (!stack.linkCommand) return;
  mkdirSync("test-results/.state", { recursive: true });
  const addresses = await addressesOf(stack);
  const browser = await chromium.launch(config.projects[0]?.use.launchOptions);
  for (const person of PEOPLE) {
    const context = await browser.newContext({ baseURL: stack.dashboard });
    const page = await context.newPage();
    await page.goto(signInLink(stack, addresses[person]));
    const signedIn = page.waitForResponse((response) => response.url().endsWith("/auth/link"));
    await page.getByRole("button", { name: "Continue" }).click();
    if (!(await signedIn).ok()) throw new Error(`the sign-in link of ${person} was refused`);
    await context.storageState({ path: stateFile(person) });
    await context.close();
  }
  await browser.close();
}

/** The people's e-mail addresses. The demo names people differently from version to version. */
async function addressesOf(stack: Stack): Promise<Record<Person, string>> {
  const api = new Api(stack);
  const members = await api.get<{ userId: string; email: string }[]>("/members?limit=100");
  const entries = PEOPLE.map(async (person) => {
    const { userId } = await api.get<{ userId: string }>("/me", person);
    return [person, members.find((member) => member.userId === userId)?.email ?? ""] as const;
  });
  return Object.fromEntries(await Promise.all(entries)) as Record<Person, string>;
}
