// Organization Settings > Secrets: create, rotate, destroy, delete; the value stays nowhere; what each role may do.
import type { Page, Request, Response } from "@playwright/test";
import { randomUUID } from "node:crypto";
import { PIPELINE_PREFIX } from "./support/api";
import { expect, settled, test } from "./support/fixtures";
import { expectAccessible } from "./support/pages";

type Secret = { id: string; name: string; activeVersion: number };

const newName = () => `${PIPELINE_PREFIX}${randomUUID().slice(0, 8)}`;
/** No part of it occurs in a page by chance. */
const newValue = () => `quartz-${randomUUID()}`;

/** Collects the bodies of all responses, and the addresses and bodies of all requests. */
function recorded(page: Page): { requests: string[]; responses: Promise<string>[] } {
  const requests: string[] = [];
  const responses: Promise<string>[] = [];
  page.on("request", (request: Request) => requests.push(`${request.url()} ${request.postData() ?? ""}`));
  page.on("response", (response: Response) => {
    // A stream has no end.
    const isStream = response.headers()["content-type"]?.startsWith("text/event-stream");
    if (!isStream) responses.push(response.text().catch(() => ""));
  });
  return { requests, responses };
}

/** Everything in the page that can hold a text: its elements with the contents of controls, storage, its address. */
function contentsOf(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const controls = [...document.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("input, textarea")];
    const databases = (await indexedDB.databases?.()) ?? [];
    const caches = (await window.caches?.keys()) ?? [];
    return [
      document.documentElement.outerHTML,
      ...controls.flatMap(({ value, defaultValue }) => [value, defaultValue]),
      JSON.stringify({ ...localStorage }),
      JSON.stringify({ ...sessionStorage }),
      JSON.stringify(history.state),
      document.cookie,
      location.href,
      JSON.stringify(databases),
      JSON.stringify(caches),
    ].join("\n");
  });
}

/** The page's heap as text: all strings of React, of its query cache and of closures are in it. */
async function heapTextOf(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const chunks: string[] = [];
  session.on("HeapProfiler.addHeapSnapshotChunk", ({ chunk }) => chunks.push(chunk));
  await session.send("HeapProfiler.takeHeapSnapshot", { reportProgress: false });
  await session.detach();
  return chunks.join("");
}

async function createInPage(page: Page, name: string, value: string): Promise<void> {
  await page.getByRole("button", { name: "New secret" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByLabel("Pipeline").selectOption({ label: "Storefront" });
  await dialog.getByLabel("Value", { exact: true }).fill(value);
  await dialog.getByRole("button", { name: "New secret" }).click();
  await expect(page.getByText(`${name} was created`)).toBeVisible();
}

test("a secret is created, rotated and deleted, and its values stay nowhere in the page", async ({
  open,
  stack,
  api,
}) => {
  test.setTimeout(90_000);
  const name = newName();
  const [first, second] = [newValue(), newValue()];
  const page = await open("maintainer", `/o/${stack.org}/settings/secrets`);
  const { requests, responses } = recorded(page);
  await settled(page);
  await createInPage(page, name, first);

  await page.getByRole("link", { name }).click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
  await expect(page.getByText("No step has read it yet.")).toBeVisible();
  await page.getByRole("button", { name: "New version" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("File", { exact: true }).click();
  await dialog
    .getByLabel("File with the value")
    .setInputFiles({ name: "key.pem", mimeType: "text/plain", buffer: Buffer.from(second) });
  await dialog.getByRole("button", { name: "New version" }).click();
  await expect(page.getByText("Version 2 is active")).toBeVisible();
  await expect(page.getByRole("row", { name: /v2/ })).toContainText("Active");
  await expect(page.getByRole("row", { name: /v1/ })).toContainText("Retired");

  // Both were sent once, in a body; no response has returned them.
  for (const value of [first, second]) {
    expect(requests.filter((request) => request.includes(value))).toHaveLength(1);
    expect(requests.some((request) => request.split(" ")[0]?.includes(value))).toBe(false);
    expect((await Promise.all(responses)).join("\n")).not.toContain(value);
    expect(await contentsOf(page)).not.toContain(value);
  }
  // The test would find a value that is kept.
  const control = newValue();
  await page.evaluate((value) => Object.assign(window, { kept: { value } }), control);
  const heap = await heapTextOf(page);
  const found = [control, first, second].map((value) => heap.includes(value));
  expect(found, "the control and the two values in the page's heap").toEqual([true, false, false]);

  await page.getByRole("button", { name: "Destroy version 1" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Destroy" }).click();
  await expect(page.getByText("Version 1 was destroyed")).toBeVisible();
  await expect(page.getByRole("row", { name: /v1/ })).toContainText("Destroyed");

  await page.getByRole("button", { name: "Delete" }).click();
  await expectAccessible(page, "dialog delete secret");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL(`${stack.dashboard}/o/${stack.org}/settings/secrets`);
  await expect(page.getByRole("link", { name })).toHaveCount(0);
  const left = await api.get<Secret[]>(`/secrets?name=${name}`);
  expect(left).toEqual([]);
});

test("a staged version is used when it is activated", async ({ open, stack, api }) => {
  const name = newName();
  const body = { name, pipelineId: "storefront", value: newValue() };
  const { id } = await api.send<Secret>("maintainer", "POST", "/secrets", body);
  const page = await open("maintainer", `/o/${stack.org}/settings/secrets/${id}`);
  await page.getByRole("button", { name: "New version" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Value", { exact: true }).fill(newValue());
  await dialog.getByLabel(/Only store it/).check();
  await expectAccessible(page, "dialog new version of a secret");
  await dialog.getByRole("button", { name: "New version" }).click();
  await expect(page.getByText("Version 2 is staged")).toBeVisible();
  expect((await api.get<Secret>(`/secrets/${id}`)).activeVersion).toBe(1);
  await page.getByRole("button", { name: "Activate version 2" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Activate" }).click();
  await expect(page.getByText("Version 2 is active")).toBeVisible();
  expect((await api.get<Secret>(`/secrets/${id}`)).activeVersion).toBe(2);
});

test("mistakes are shown before the request, and a refused value has to be entered again", async ({
  open,
  stack,
  api,
}) => {
  const name = newName();
  const value = newValue();
  await api.send("maintainer", "POST", "/secrets", { name, pipelineId: "storefront", value: newValue() });
  const page = await open("admin", `/o/${stack.org}/settings/secrets`);
  await page.getByRole("button", { name: "New secret" }).click();
  const dialog = page.getByRole("dialog");
  const submit = dialog.getByRole("button", { name: "New secret" });
  await submit.click();
  for (const text of [/A name begins with a letter/, "Choose a pipeline.", "Enter a value."])
    await expect(dialog.getByText(text)).toBeVisible();
  await expectAccessible(page, "dialog new secret");
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByLabel("Scope").selectOption("organization");
  await dialog.getByLabel("Branches").fill("main");
  await dialog.getByLabel("Value", { exact: true }).fill("short");
  await submit.click();
  await expect(dialog.getByText(/6 characters at least: a shorter one/)).toBeVisible();
  await expect(dialog.getByText(/choose the pipelines too/)).toBeVisible();
  // The name is taken in the scope of the pipeline.
  await dialog.getByLabel("Scope").selectOption("pipeline");
  await dialog.getByLabel("Pipeline").selectOption({ label: "Storefront" });
  await dialog.getByLabel("Value", { exact: true }).fill(value);
  await submit.click();
  await expect(dialog.getByRole("alert").first()).toContainText("secret_name_taken");
  await expect(dialog.getByText("The page has not kept the value: enter it again.")).toBeVisible();
  await expect(dialog.getByLabel("Value", { exact: true })).toHaveValue("");
  expect(await contentsOf(page)).not.toContain(value);
});

test("rules are changed, and never over those of somebody else", async ({ open, stack, api }) => {
  const name = newName();
  const body = { name, pipelineId: "storefront", value: newValue() };
  const { id } = await api.send<Secret>("maintainer", "POST", "/secrets", body);
  const page = await open("maintainer", `/o/${stack.org}/settings/secrets/${id}`);
  const change = async (pools: string) => {
    await page.getByRole("button", { name: "Change" }).click();
    await page.getByRole("dialog").getByLabel("Pools").fill(pools);
  };
  await change("default");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await expect(page.getByText(`${name} was changed`)).toBeVisible();
  await expect(page.getByRole("region", { name: "Facts" })).toContainText("Pools default");
  await change("production");
  await api.send("admin", "PATCH", `/secrets/${id}`, { policy: { branches: ["main"] } });
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("dialog").getByText("Somebody else changed it")).toBeVisible();
  const { policy } = await api.get<{ policy: { branches: string[] } }>(`/secrets/${id}`);
  expect(policy.branches).toEqual(["main"]);
});

test("each role sees what it may", async ({ open, stack, api }) => {
  const [secret] = await api.get<Secret[]>("/secrets?name=shop-deploy-key");
  const list = `/o/${stack.org}/settings/secrets`;
  const viewer = await open("viewer", list);
  await expect(viewer.getByRole("alert").first()).toContainText("Not allowed");
  await viewer.goto(`${list}/${secret?.id}`);
  await expect(viewer.getByRole("alert").first()).toContainText("Not allowed");

  const developer = await open("developer", list);
  await expect(developer.getByRole("link", { name: "shop-deploy-key" })).toBeVisible();
  await expect(developer.getByRole("button", { name: "New secret" })).toHaveAttribute("aria-disabled", "true");
  await developer.goto(`${list}/${secret?.id}`);
  await expect(developer.getByText("Maintainers see who has read it.")).toBeVisible();
  for (const name of ["New version", "Change", "Delete", "Destroy version 1"])
    await expect(developer.getByRole("button", { name: new RegExp(`^${name}`) })).toHaveAttribute(
      "aria-disabled",
      "true",
    );

  const [own] = await api.get<Secret[]>("/secrets?name=payment-sandbox-key");
  const maintainer = await open("maintainer", `${list}/${own?.id}`);
  const button = maintainer.getByRole("button", { name: "New version" });
  await expect(button).toHaveAttribute("title", "Admins change secrets of the whole organization");
});

test("a deployment lists what it has read, for maintainers", async ({ open, stack, api }) => {
  const [secret] = await api.get<Secret[]>("/secrets?name=shop-deploy-key");
  const [read] = await api.get<{ deploymentId: string }[]>(`/secrets/${secret?.id}/reads?limit=1`);
  const path = `/o/${stack.org}/deployments/${read?.deploymentId}`;
  const page = await open("maintainer", path);
  const section = page.getByRole("group").filter({ hasText: "Secrets it read" });
  await expect(section.getByText("Retired")).toBeVisible();
  await section.getByRole("link", { name: "deploy / roll-out" }).click();
  await expect(page).toHaveURL(/step=stp_/);
  await section.getByRole("link", { name: "shop-deploy-key" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "shop-deploy-key" })).toBeVisible();
  await expect(page.getByRole("table", { name: "Reads" }).getByRole("row").nth(1)).toBeVisible();
  const developer = await open("developer", path);
  await settled(developer);
  await expect(developer.getByText("Secrets it read")).toHaveCount(0);
});
