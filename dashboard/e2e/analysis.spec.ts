// The model that explains failures: its settings, and its explanation in the panel of a failure.
import type { Page } from "@playwright/test";
import { randomUUID } from "node:crypto";
import { type Api, createPipeline, environmentsOf, type TestPipeline } from "./support/api";
import { type Deployment, ended } from "./support/deploy";
import { expect, settled, test } from "./support/fixtures";
import { expectAccessible, expectNoSidewaysScroll } from "./support/pages";
import { type Explanation, TestModel } from "./support/testModel";

const SETTINGS = "/analysis-settings";
const KEY = "canary-of-a-model";
const GOOD_COMMIT = "1111111e5512aa77ab0e21d20c4fa90f11b4b825";
/** Letters alone, because numbers are masked. Equal failures get the explanation that was made before. */
const WORD = Array.from(randomUUID().replaceAll("-", ""), (digit) => "ghijklmnopqrstuv"[parseInt(digit, 16)]).join("");
const LINE = `error: schema ${WORD} expected, found none`;
const SCRIPT = `echo "migrating"
test "$GREENROOM_COMMIT_ID" = ${GOOD_COMMIT} && exit 0
echo "${LINE}" >&2
exit 3`;

const OFF = {
  enabled: false,
  credential: null,
  maxRequestsPerDay: 200,
  maxTokensPerMonth: null,
  maxCostMicrosPerMonth: null,
  inputPriceMicros: 0,
  outputPriceMicros: 0,
};

test.beforeEach(({ api }) => api.send("admin", "PATCH", SETTINGS, OFF));
test.afterEach(({ api }) => api.send("admin", "PATCH", SETTINGS, OFF));

const save = (page: Page) => page.getByRole("button", { name: "Save" }).click();
const status = (page: Page) => page.getByRole("region", { name: "Status" });

test("an admin turns a model on and off; its key is never shown", async ({ open, stack, api }) => {
  test.setTimeout(60_000);
  const page = await open("admin", `/o/${stack.org}/settings/analysis`);
  await settled(page);
  await expect(status(page)).toContainText("Nothing is sent anywhere.");
  await page.getByLabel("Explain failures with a model").check();
  await page.getByLabel("Address").fill("");
  await page.getByLabel("Model", { exact: true }).fill("");
  await page.getByLabel("Requests per day").fill("many");
  await save(page);
  for (const text of [/^Enter an address/, "Enter the name of the model.", /^Enter a whole number/])
    await expect(page.getByText(text)).toBeVisible();
  await expectAccessible(page, "failure analysis with mistakes");
  await page.setViewportSize({ width: 360, height: 740 });
  await expectNoSidewaysScroll(page, "failure analysis at 360 px");
  await page.setViewportSize({ width: 1440, height: 900 });

  await page.getByLabel("Protocol").selectOption("anthropic");
  await expect(page.getByLabel("Address")).toHaveValue("https://api.anthropic.com/v1");
  await page.getByLabel("Protocol").selectOption("openai");
  await expect(page.getByLabel("Address")).toHaveValue("");
  // What is wrong only for the server is shown at its field too.
  await page.getByLabel("Address").fill("http://models.example/v1");
  await page.getByLabel("Model", { exact: true }).fill("m-1");
  await page.getByLabel("API key").fill(KEY);
  await page.getByLabel("Requests per day").fill("50");
  await save(page);
  await expect(page.getByLabel("Address")).toHaveAccessibleDescription(/https/);
  await page.getByLabel("Address").fill("https://models.example/v1");
  await expect(page.getByText("with lines of their logs, is then sent to models.example.")).toBeVisible();
  await page.getByLabel("Cost per month").fill("25");
  await save(page);
  await expect(page.getByText("A limit of the cost needs at least one price.")).toBeVisible();
  await page.getByLabel("Price of a million tokens of input").fill("0.25");
  await save(page);
  await expect(page.getByText("The settings were saved")).toBeVisible();
  await expect(status(page)).toContainText("with lines of their logs, is sent to models.example.");
  await expect(status(page)).toContainText(/Requests today\d+ of 50/);
  await expect(status(page)).toContainText(/Cost this month.* of 25\.00/);
  await expect(page.getByLabel("API key")).toHaveValue("");
  expect(await page.content()).not.toContain(KEY);
  const saved = await api.get(SETTINGS);
  expect(saved).toMatchObject({ enabled: true, hasCredential: true, inputPriceMicros: 250_000 });
  expect(JSON.stringify(saved)).not.toContain(KEY);

  // Another address needs the key again, or none.
  await page.getByLabel("Address").fill("https://other.example/v1");
  await save(page);
  await expect(page.getByText(/^Enter it again, or delete it/)).toBeVisible();
  await page.getByLabel("Delete the key: the endpoint needs none").check();
  await page.getByLabel("Explain failures with a model").uncheck();
  await save(page);
  await expect(status(page)).toContainText("Nothing is sent anywhere.");
  expect(await api.get(SETTINGS)).toMatchObject({ enabled: false, hasCredential: false });
});

test("a change of the settings by another admin meanwhile is not overwritten", async ({ open, stack, api }) => {
  const page = await open("admin", `/o/${stack.org}/settings/analysis`);
  await page.getByLabel("Tokens per month").fill("1000");
  await api.send("owner", "PATCH", SETTINGS, { maxRequestsPerDay: 7 });
  // The status is live, and what was entered stays.
  await expect(status(page)).toContainText(/\d+ of 7/);
  await expect(page.getByLabel("Tokens per month")).toHaveValue("1000");
  await save(page);
  await expect(page.getByRole("alert")).toContainText(/changed/i);
  await page.getByRole("button", { name: "Show the current settings" }).click();
  await expect(page.getByLabel("Requests per day")).toHaveValue("7");
  await expect(page.getByLabel("Tokens per month")).toHaveValue("");
});

test("the settings of failure analysis are for admins; others read why", async ({ open, stack }) => {
  const page = await open("maintainer", `/o/${stack.org}/settings/analysis`);
  await expect(page.getByRole("alert").first()).toContainText(/Not allowed|admin/);
  await expect(page.getByRole("button", { name: "Save" })).toHaveCount(0);
});

const blockOf = (page: Page) => page.getByRole("region", { name: "deploy › roll-out", exact: true });
const wordsOf = (page: Page) => blockOf(page).getByRole("region", { name: "In the words of a model" });
const attemptOf = (page: Page) => blockOf(page).getByRole("region", { name: "Explanation by a model" });
const explain = (page: Page) => blockOf(page).getByRole("button", { name: "Explain with a model" });

const WORDS: Explanation = {
  category: "database",
  evidence: ["E1"],
  suspects: ["C1"],
  cause: "<img src=x onerror=alert(1)> The **schema** is missing.",
  next: ["Run the migration first", "Deploy again"],
  confidence: "medium",
  enough: true,
};

/** Deploys a commit, waits for the end and, if it has failed, for the evidence. */
async function deployed(api: Api, at: TestPipeline, session: string, commitId: string): Promise<string> {
  const path = `${at.environment("qa-1")}/sessions/${session}/deploy`;
  const { id } = await api.send<Deployment>("developer", "POST", path, { commitId });
  if ((await ended(api, id)).status !== "failed") return id;
  const evidence = () => api.get<{ status: string }>(`/deployments/${id}/evidence`);
  await expect.poll(async () => (await evidence()).status, { timeout: 30_000 }).toBe("ready");
  return id;
}

test("a model explains a failure; its words are labelled, plain text, and not requested twice", async ({
  open,
  stack,
  api,
}) => {
  test.setTimeout(240_000);
  const model = new TestModel();
  await model.listen();
  try {
    const pipeline = await createPipeline(api, environmentsOf(["qa-1"]), SCRIPT);
    const { sessionId } = await pipeline.claim("developer", "qa-1");
    await deployed(api, pipeline, sessionId, GOOD_COMMIT);
    const id = await deployed(api, pipeline, sessionId, "9f3c2a1e5512aa77ab0e21d20c4fa90f11b4b825");
    const page = await open("developer", `/o/${stack.org}/deployments/${id}`);
    await expect(blockOf(page).getByRole("button", { name: "Propose a fix" })).toBeVisible();
    await expect(explain(page)).toHaveCount(0);
    const on = { enabled: true, protocol: "openai", address: model.address, model: "m-1", credential: { token: KEY } };
    await api.send("admin", "PATCH", SETTINGS, on);
    model.answer = WORDS;
    const release = model.hold();
    await page.reload();
    await expect(explain(page)).toHaveAttribute("title", /^Sends the evidence to m-1 at 127\.0\.0\.1/);
    await explain(page).click();
    await expect(attemptOf(page)).toContainText(/Waits for the model to respond, until \d\d:\d\d at the latest\./);
    await expect(explain(page)).toHaveCount(0);
    await expectAccessible(page, "deployment whose failure a model explains");
    release();

    // The page is not loaded again.
    await expect(wordsOf(page)).toContainText("<img src=x onerror=alert(1)> The **schema** is missing.");
    await expect(wordsOf(page)).toContainText("Written by m-1 at 127.0.0.1. A model may be wrong or misled");
    await expect(wordsOf(page).getByRole("listitem").filter({ hasText: "Run the migration first" })).toBeVisible();
    await expect(wordsOf(page)).toContainText(/commit 9f3c2a1\w+ instead of 1111111/);
    await expect(wordsOf(page)).toContainText("medium, as the model states");
    await expect(wordsOf(page).locator("img")).toHaveCount(0);
    await expect(attemptOf(page)).toHaveCount(0);
    await expect(explain(page)).toHaveCount(0);
    await expect(blockOf(page).getByRole("group", { name: "Was this helpful?" })).toBeVisible();
    await wordsOf(page)
      .getByRole("link", { name: /^Show line \d+ in the log$/ })
      .click();
    await expect(page).toHaveURL(/#L\d+$/);
    await expectAccessible(page, "deployment with the words of a model");

    // Maintainers read what was sent; others learn who may.
    const sent = (on: Page) => wordsOf(on).getByRole("button", { name: "What was sent" });
    await expect(sent(page)).toHaveAttribute("title", "Maintainers can read it");
    const maintainer = await open("maintainer", `/o/${stack.org}/deployments/${id}`, { width: 390, theme: "dark" });
    await expectNoSidewaysScroll(maintainer, "deployment with the words of a model at 390 px");
    await sent(maintainer).click();
    const dialog = maintainer.getByRole("dialog", { name: "What was sent to the model" });
    await expect(dialog).toContainText("127.0.0.1");
    await expect(dialog.getByRole("region", { name: "Everything that was sent" })).toContainText(LINE);
    await expectAccessible(maintainer, "dialog what was sent");
    await expectNoSidewaysScroll(maintainer, "dialog what was sent at 390 px");
    expect(model.received).toHaveLength(1);
    expect(await maintainer.content()).not.toContain(KEY);
  } finally {
    await model.close();
  }
});

test("a model that fails, lacks evidence or has used up its limit leaves the rest as it is", async ({
  open,
  stack,
  api,
}) => {
  test.setTimeout(240_000);
  const model = new TestModel();
  await model.listen();
  try {
    const pipeline = await createPipeline(api, environmentsOf(["qa-1"]), SCRIPT);
    const { sessionId } = await pipeline.claim("developer", "qa-1");
    const id = await deployed(api, pipeline, sessionId, "9f3c2a1e5512aa77ab0e21d20c4fa90f11b4b825");
    const on = { enabled: true, protocol: "openai", address: model.address, model: "m-1", credential: { token: KEY } };
    await api.send("admin", "PATCH", SETTINGS, on);
    model.answer = 401;
    const page = await open("developer", `/o/${stack.org}/deployments/${id}`);
    await explain(page).click();
    await expect(attemptOf(page)).toContainText("The model gave no explanation.", { timeout: 60_000 });
    await expect(blockOf(page)).toContainText(LINE);

    const { usage } = await api.get<{ usage: { requests: number } }>(SETTINGS);
    await api.send("admin", "PATCH", SETTINGS, { maxRequestsPerDay: usage.requests });
    await explain(page).click();
    await expect(blockOf(page).getByRole("alert")).toHaveText(
      /^The limit of requests per day for your organization's model is used up\. It resets .*00:00, and an admin can raise it\.$/,
    );
    await expectAccessible(page, "deployment whose model has no budget");
    await api.send("admin", "PATCH", SETTINGS, { maxRequestsPerDay: null });
    model.answer = { ...WORDS, enough: false };
    await explain(page).click();
    await expect(wordsOf(page)).toContainText("The model states that the evidence is not enough to name a cause.", {
      timeout: 30_000,
    });
    await expect(wordsOf(page)).not.toContainText("The **schema** is missing.");
    await expect(attemptOf(page)).toHaveCount(0);

    const viewer = await open("viewer", `/o/${stack.org}/deployments/${id}`);
    await expect(wordsOf(viewer)).toBeVisible();
  } finally {
    await model.close();
  }
});
