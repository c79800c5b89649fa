// Names and logs that try to become more than text: on every screen that shows them, nothing runs, no element is
// created, nothing is requested from elsewhere, and no link leads anywhere but to http and https addresses.
import type { Page } from "@playwright/test";
import { randomUUID } from "node:crypto";
import { Api, createPipeline, environmentsOf, type Session, type TestPipeline } from "./support/api";
import { expect, settled, test } from "./support/fixtures";
import { HIDDEN_NAMES, HOSTILE_LINES, HOSTILE_NAMES, INVISIBLE_NAMES, printCommand } from "./support/hostile";
import { stackOf } from "./support/stack";

const COMMIT = "9f3c2a1b7d4e8f60512a3b4c5d6e7f8091a2b3c4";
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const names = HOSTILE_NAMES.map((_, index) => `h-${index + 1}`);

let api: Api;
let pipeline: TestPipeline;
const sessions: Session[] = [];
const slugs: string[] = [];

/** Names that git accepts as those of branches. */
const branches = HOSTILE_NAMES.filter((name) => !/[\s~^:?*[\\]|\.\.|@\{|\/\/|^[-/.]|[/.]$|\/\./.test(name));

test.beforeAll(async () => {
  test.setTimeout(300_000);
  api = new Api(stackOf());
  pipeline = await createPipeline(api, environmentsOf(names), printCommand(HOSTILE_LINES));
  for (const [index, name] of HOSTILE_NAMES.entries()) {
    const env = names[index] ?? "";
    // The first ones deploy, with hostile names of branches. Some are taken over with a hostile reason.
    const branch = branches[index];
    const body = index < 6 ? { context: name, commitId: COMMIT, branch } : { context: name };
    sessions.push(await pipeline.claim("developer", env, body));
    if (index % 8 === 7) {
      await api.send("secondDeveloper", "POST", `${pipeline.environment(env)}/force-claim`, { context: name });
    }
    if (index % 8 === 6) {
      await api.send(
        "secondDeveloper",
        "POST",
        `${pipeline.environment(env)}/sessions/${sessions[index]?.sessionId}/request-handover`,
        { context: name },
      );
    }
    await api.send("developer", "POST", "/api-tokens", { name, kind: "ci" });
    if (index % 2 === 0) {
      const email = `${randomUUID()}@example.test`;
      await api.send("admin", "POST", "/members", { email, name, role: "viewer" });
    }
    if (index % 4 === 1) {
      const secret = { name: `ui-${randomUUID().slice(0, 8)}`, pipelineId: pipeline.slug, description: name };
      await api.send("owner", "POST", "/secrets", { ...secret, value: "quartz-lantern" });
    }
    if (index % 4 === 0) {
      const slug = `ui-${randomUUID().slice(0, 8)}`;
      const definition =
        "stages:\n  hello:\n    steps:\n      - image: localhost/greenroom-test:1\n        run: echo hello\n";
      await api.send("owner", "POST", "/pipelines", { name, slug, definition });
      if (index % 8 === 0) await api.send("owner", "POST", `/pipelines/${slug}/stop`, { mode: "drain", reason: name });
      slugs.push(slug);
    }
    if (index % 16 === 0) await api.send("owner", "POST", "/runners", { name });
  }
});

/** Everything that was created is removed from the lists that other tests look at. */
test.afterAll(async () => {
  test.setTimeout(180_000);
  for (const slug of [pipeline?.slug, ...slugs]) if (slug) await api.request("owner", "DELETE", `/pipelines/${slug}`);
  for (const { id, name } of await api.get<{ id: string; name: string }[]>("/secrets?limit=100"))
    if (name.startsWith("ui-")) await api.request("owner", "DELETE", `/secrets/${id}`);
  const mine = await api.get<{ id: string; name: string }[]>("/api-tokens?limit=100", "developer");
  for (const { id, name } of mine)
    if (HOSTILE_NAMES.includes(name)) await api.request("developer", "DELETE", `/api-tokens/${id}`);
  for (let offset = 0; ;) {
    const page = await api.get<{ userId: string; name: string }[]>(`/members?limit=100&offset=${offset}`);
    const hostile = page.filter(({ name }) => HOSTILE_NAMES.includes(name));
    for (const { userId } of hostile) await api.request("owner", "DELETE", `/members/${userId}`);
    offset += page.length - hostile.length;
    if (page.length < 100) break;
  }
});

test("the API rejects names that hide what they are", async () => {
  for (const name of HIDDEN_NAMES) {
    for (const [path, body] of [
      ["/api-tokens", { name }],
      ["/secrets", { name: "ui-hidden", pipelineId: pipeline.slug, description: name, value: "quartz-lantern" }],
      ["/members", { name, email: `${randomUUID()}@example.test`, role: "viewer" }],
      // Line breaks and tabs of a context become spaces.
      ...(/[\r\n\t]/.test(name)
        ? []
        : ([
            [`${pipeline.environment("h-1")}/sessions`, { context: name, queue: true }],
            [`${pipeline.environment("h-1")}/force-claim`, { context: name }],
          ] as const)),
    ] as const) {
      const { status } = await api.request("owner", "POST", path, body);
      expect([400, 422], `${JSON.stringify(name)} at ${path}`).toContain(status);
    }
  }
  for (const name of INVISIBLE_NAMES) {
    for (const [path, body] of [
      ["/api-tokens", { name }],
      ["/members", { name, email: `${randomUUID()}@example.test`, role: "viewer" }],
    ] as const) {
      const { status } = await api.request("owner", "POST", path, body);
      expect(status, `${JSON.stringify(name)} at ${path}`).toBe(422);
    }
  }
  for (const name of HOSTILE_NAMES) {
    const { status } = await api.request("developer", "GET", pipeline.environment(encodeURIComponent(name)));
    expect([404, 422], name).toContain(status);
  }
});

for (const [name, path] of [
  ["board", () => `/o/acme/pipelines/${pipeline.slug}`],
  ["rows of the board", () => `/o/acme/pipelines/${pipeline.slug}?view=rows`],
  ["all environments", () => `/o/acme/environments?q=h-`],
  ["home", () => "/o/acme"],
  ["pipelines", () => "/o/acme/pipelines"],
  ["deployments", () => "/o/acme/deployments"],
  ["members", () => "/o/acme/settings/members"],
  ["API tokens", () => "/o/acme/settings/api-tokens"],
  ["secrets", () => "/o/acme/settings/secrets"],
  ["runners", () => "/o/acme/runners"],
  ["profile", () => "/me"],
] as const) {
  test(`hostile names are only text: ${name}`, async ({ open }) => {
    test.setTimeout(90_000);
    const person = name === "members" || name === "runners" ? "admin" : "developer";
    const page = await open(person, "/sign-in");
    const traces = watch(page);
    await page.goto(path());
    await settled(page);
    await scrollThrough(page);
    await expectOnlyText(page, traces);
  });
}

test("hostile names are only text: environments, sessions and what happened to them", async ({ open }) => {
  test.setTimeout(300_000);
  const page = await open("developer", "/sign-in");
  const traces = watch(page);
  // One name of eight, and the environments that were claimed by force or have a hand-over request.
  for (const [index, env] of names.entries()) {
    if (![0, 6, 7].includes(index % 16)) continue;
    const at = `/o/acme/pipelines/${pipeline.slug}/environments/${env}`;
    for (const path of [at, `${at}/sessions/${sessions[index]?.sessionId}`]) {
      await page.goto(path);
      await settled(page);
      await expect(page.getByText(HOSTILE_NAMES[index] ?? "", { exact: false }).first()).toBeVisible();
      await expectOnlyText(page, traces);
    }
  }
});

test("200 hostile lines of a log are only text", async ({ open }) => {
  test.setTimeout(240_000);
  expect(HOSTILE_LINES).toHaveLength(200);
  const at = `${pipeline.environment("h-1")}/sessions/${sessions[0]?.sessionId}`;
  const deploymentId = async () =>
    (await api.get<{ deployments: { id: string; status: string }[] }>(at)).deployments[0];
  await expect.poll(async () => (await deploymentId())?.status, { timeout: 180_000 }).toBe("succeeded");
  const page = await open("developer", "/sign-in");
  const traces = watch(page);
  await page.goto(`/o/acme/deployments/${(await deploymentId())?.id}?stage=deploy`);
  await settled(page);
  const log = page.getByRole("log");
  await expect(log.locator("[data-line]").first()).toBeVisible();
  const seen = new Set<string>();
  for (let top = 0; top <= 200 * 20; top += 200) {
    await log.evaluate((element, position) => element.scrollTo({ top: position }), top);
    await page.waitForTimeout(50);
    for (const line of await log.locator("[data-line]").evaluateAll((rows) => rows.map((row) => row.textContent ?? "")))
      seen.add(line);
    await expectOnlyText(page, traces);
  }
  expect(seen.size).toBeGreaterThanOrEqual(200);
  for (const line of seen) {
    expect(line).not.toMatch(BIDI);
    // oxlint-disable-next-line no-control-regex
    expect(line).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb]/);
    expect(line.length).toBeLessThan(10_100);
  }
  expect(await log.locator("a, img, svg, iframe, script, style, form, input").count()).toBe(0);
});

test("hostile lines of a failure are only text", async ({ open }) => {
  test.setTimeout(240_000);
  const failing = await createPipeline(api, environmentsOf(["h-1"]), `${printCommand(HOSTILE_LINES)}\nexit 1`);
  slugs.push(failing.slug);
  const { sessionId } = await failing.claim("developer", "h-1", { commitId: COMMIT });
  const at = `${failing.environment("h-1")}/sessions/${sessionId}`;
  const read = async () => (await api.get<{ deployments: { id: string; status: string }[] }>(at)).deployments[0];
  await expect.poll(async () => (await read())?.status, { timeout: 180_000 }).toBe("failed");
  const page = await open("developer", "/sign-in");
  const traces = watch(page);
  await page.goto(`/o/acme/deployments/${(await read())?.id}`);
  const block = page.getByRole("region", { name: "deploy › roll-out", exact: true });
  await block.getByRole("button", { name: "Show 40 lines" }).click({ timeout: 20_000 });
  await block.getByRole("button", { name: "Show 200 lines" }).click();
  await expect(block.getByRole("button", { name: "Show 200 lines" })).toBeHidden();
  const shown = (await block.textContent()) ?? "";
  expect(shown).not.toMatch(BIDI);
  // oxlint-disable-next-line no-control-regex
  expect(shown).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb]/);
  await expectOnlyText(page, traces);
  for (const path of [`/o/acme/failures?pipeline=${failing.slug}`, await failurePage(failing.slug)]) {
    await page.goto(path);
    await settled(page);
    await expect(page.getByRole("row").nth(1)).toBeVisible();
    await expectOnlyText(page, traces);
  }
});

async function failurePage(slug: string): Promise<string> {
  const [failure] = await api.get<{ fingerprint: string }[]>(`/failures?pipelineId=${slug}&limit=1`);
  return `/o/acme/failures/${failure?.fingerprint}`;
}

type Traces = { dialogs: string[]; requests: string[]; popups: string[] };

/** Records what must not happen. */
function watch(page: Page): Traces {
  const traces: Traces = { dialogs: [], requests: [], popups: [] };
  const own = new URL(stackOf().dashboard).origin;
  page.on("dialog", (dialog) => {
    traces.dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  page.on("popup", (popup) => traces.popups.push(popup.url()));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${own}/`) && !request.url().startsWith("data:")) traces.requests.push(request.url());
  });
  return traces;
}

/** Long lists have only the rows on the screen in the document. Also moves the pointer over them. */
async function scrollThrough(page: Page): Promise<void> {
  await page.mouse.move(700, 450);
  for (let round = 0; round < 8; round += 1) {
    await page.mouse.wheel(0, 700);
    await page.waitForTimeout(100);
    await expectNothingCreated(page);
  }
}

async function expectOnlyText(page: Page, traces: Traces): Promise<void> {
  await expectNothingCreated(page);
  expect(traces).toEqual({ dialogs: [], requests: [], popups: [] });
}

async function expectNothingCreated(page: Page): Promise<void> {
  const found = await page.evaluate(() => ({
    ran: "hostile" in window || "hostile" in Object.prototype,
    elements: document.querySelectorAll("[data-hostile], iframe, object, embed, base, [srcdoc]").length,
    handlers: [...document.querySelectorAll("*")].filter((element) =>
      element.getAttributeNames().some((name) => name.startsWith("on")),
    ).length,
    links: [...document.querySelectorAll("a")]
      .map((link) => link.getAttribute("href") ?? link.getAttribute("xlink:href") ?? "")
      .filter((href) => !["http:", "https:"].includes(new URL(href, location.href).protocol)),
    inlineScripts: [...document.scripts].filter(({ src }) => !src.startsWith(location.origin)).length,
    styles: document.querySelectorAll("style").length,
  }));
  expect(found).toEqual({ ran: false, elements: 0, handlers: 0, links: [], inlineScripts: 0, styles: 0 });
}
