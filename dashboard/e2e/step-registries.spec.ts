// Step registries: adding one, its steps with their documentation, synchronization, what is refused, and yanking.
import type { Page } from "@playwright/test";
import { randomUUID } from "node:crypto";
import { type Api, PIPELINE_PREFIX } from "./support/api";
import { expect, settled, test } from "./support/fixtures";
import { GitServer } from "./support/gitServer";
import { expectAccessible, expectNoSidewaysScroll } from "./support/pages";

// A server that may not send requests to this machine can't read the tests' repositories.
test.skip(!process.env.GREENROOM_OUTBOUND_ALLOW, "GREENROOM_OUTBOUND_ALLOW is not set");

/** A second synchronization begins 3 seconds after the first one, and a worker looks for work every 2 seconds. */
const SYNCED = { timeout: 20_000 };

const ROLL_OUT = `description: "Rolls out. <img src=x onerror=alert(1)>"
inputs:
  strategy: { type: string, enum: [rolling, recreate], required: true, description: How copies are replaced }
  replicas: { type: integer, default: 2, minimum: 1, maximum: 9 }
secrets:
  DEPLOY_KEY: { required: true, description: A key of the cluster }
outputs:
  revision: { description: What runs now }
run: ./run.sh
`;

let git: GitServer;

test.beforeAll(async () => {
  git = await GitServer.start();
});

test.afterAll(async () => {
  await git?.close();
});

const newName = () => `${PIPELINE_PREFIX}${randomUUID().slice(0, 8)}`;

type Registry = { id: string; name: string; status: string; syncedAt: string | null };

/** Creates a registry and waits until it was read. */
async function createRegistry(api: Api, url: string): Promise<Registry> {
  const created = await api.send<Registry>("admin", "POST", "/step-registries", { name: newName(), url });
  const read = () => api.get<Registry>(`/step-registries/${created.id}`);
  await expect.poll(async () => (await read()).syncedAt, SYNCED).not.toBeNull();
  return read();
}

/** Chooses a view of a step. */
const show = (page: Page, view: string) => page.locator("label", { hasText: new RegExp(`^${view}`) }).click();

const dialogOf = (page: Page) => page.getByRole("dialog");

test("a registry is added, and the page of its step is its documentation", async ({ open, stack }) => {
  test.setTimeout(60_000);
  const name = newName();
  const repository = git.repository(name);
  repository.publish("roll-out", "1.2.0", ROLL_OUT);
  const page = await open("admin", `/o/${stack.org}/step-registries`);
  await page.getByRole("button", { name: "Add a registry" }).first().click();
  const dialog = dialogOf(page);
  await dialog.getByLabel("Name", { exact: true }).fill("Platform Steps");
  await dialog.getByLabel("Signers").fill("# of the platform team\nreleases@example.test");
  await dialog.getByLabel("Minimum age", { exact: true }).fill("91");
  await dialog.getByRole("button", { name: "Add" }).click();
  for (const text of [/^It begins with a small letter/, /^Enter an address/, /^Line 2: a name and/, /90 days at most/])
    await expect(dialog.getByText(text)).toBeVisible();
  await expectAccessible(page, "dialog add a registry");
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  await dialog.getByLabel("Address").fill(repository.url);
  await dialog.getByLabel("Signers").fill("");
  await dialog.getByLabel("Minimum age", { exact: true }).fill("0");
  await dialog.getByRole("button", { name: "Add" }).click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: "Synchronized" })).toBeVisible(SYNCED);

  await page.getByRole("link", { name: "roll-out" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "roll-out" })).toBeVisible();
  const inputs = page.getByRole("table", { name: "Inputs" });
  await expect(inputs.getByRole("row", { name: /^strategy string yes – "rolling" "recreate"/ })).toBeVisible();
  await expect(inputs.getByRole("row", { name: /^replicas integer no 2 1 to 9/ })).toBeVisible();
  await expect(page.getByRole("table", { name: "Secrets" })).toContainText("A key of the cluster");
  await expect(page.getByRole("table", { name: "Outputs" })).toContainText("revision");
  const example = page.getByRole("region", { name: "Example" });
  await expect(example).toContainText(`uses: ${name}/roll-out@v1\n  with:\n    strategy: "rolling"\n    # replicas: 2`);
  await expect(page.getByText(`A definition that is saved now with ${name}/roll-out@v1 locks 1.2.0.`)).toBeVisible();
  await expect(page.getByText("Rolls out. <img src=x onerror=alert(1)>").first()).toBeVisible();
  await expectAccessible(page, "step of a registry");
  await page.setViewportSize({ width: 360, height: 740 });
  await expectNoSidewaysScroll(page, "step of a registry at 360 px");
});

test("sync now shows its progress, and a version that it finds appears for everybody", async ({ open, stack, api }) => {
  test.setTimeout(90_000);
  const repository = git.repository(newName());
  repository.publish("roll-out", "1.0.0", ROLL_OUT);
  const { id } = await createRegistry(api, repository.url);
  const page = await open("admin", `/o/${stack.org}/step-registries/${id}`);
  const viewer = await open("viewer", `/o/${stack.org}/step-registries/${id}`);
  for (const shown of [page, viewer])
    await expect(shown.getByRole("row", { name: /^roll-out/ })).toContainText("1.0.0");
  repository.publish("roll-out", "1.1.0", ROLL_OUT);
  await page.getByRole("button", { name: "Sync now" }).click();
  await expect(page.getByRole("status").filter({ hasText: /^Synchronizing|begins within/ })).toBeVisible();
  await expect(page.getByRole("button", { name: "Sync now" })).toHaveAttribute("aria-disabled", "true");
  for (const shown of [page, viewer])
    await expect(shown.getByRole("row", { name: /^roll-out/ })).toContainText("1.1.0", SYNCED);
  await expect(page.getByRole("status").filter({ hasText: "Synchronized just now" })).toBeVisible(SYNCED);
  await expect(page.getByRole("button", { name: "Sync now" })).not.toHaveAttribute("aria-disabled");
});

test("tags that can't be used are listed with the reason and what to do", async ({ open, stack, api }) => {
  test.setTimeout(90_000);
  const repository = git.repository(newName());
  repository.publish("scan", "1.0.0", "run: scan\n");
  repository.publish("scan", "2.0.0", "run: scan\n", "alpine:3");
  const { id, status } = await createRegistry(api, repository.url);
  expect(status).toBe("degraded");
  repository.tag("scan/v1.0.0");
  await api.send("admin", "POST", `/step-registries/${id}/sync`);
  const page = await open("developer", `/o/${stack.org}/step-registries`);
  const row = page.getByRole("row").filter({ hasText: repository.url });
  await expect(row).toContainText("Degraded");
  await expect(row).toContainText("scan/v2.0.0: step.yaml, line 2");
  await row.getByRole("link").click();
  const bar = page.getByRole("region", { name: "The last synchronization had problems" });
  await expect(bar).toContainText("alpine:3 must be an image by digest");
  await expect(bar).toContainText("Publish a higher version or delete the tag");
  const refused = page.getByRole("table", { name: "Refused tags" });
  await expect(refused.getByRole("row", { name: /^scan\/v1.0.0/ })).toContainText("publish a new version", SYNCED);
  await expectAccessible(page, "step registry with problems");
  await page.setViewportSize({ width: 360, height: 740 });
  await expectNoSidewaysScroll(page, "step registry at 360 px");
  // Those who may not change it have no buttons for it.
  for (const name of ["Sync now", "Change", "Disable", "Delete"])
    await expect(page.getByRole("button", { name })).toHaveCount(0);
});

test("versions are compared, yanked and refused", async ({ open, stack, api }) => {
  test.setTimeout(60_000);
  const repository = git.repository(newName());
  repository.publish("roll-out", "1.0.0", ROLL_OUT);
  repository.write("roll-out/run.sh", "echo");
  repository.publish("roll-out", "1.1.0", ROLL_OUT.replace("maximum: 9", "maximum: 99"));
  const { id } = await createRegistry(api, repository.url);
  const path = `/o/${stack.org}/step-registries/${id}/steps/roll-out`;
  const page = await open("admin", `${path}?view=versions`);
  await page.getByRole("link", { name: "Changes of 1.1.0" }).click();
  await expect(page.getByRole("heading", { name: "From 1.0.0 to 1.1.0" })).toBeVisible();
  const files = page.getByRole("region", { name: "Files" });
  await expect(files.getByRole("listitem")).toHaveText([/Addedrun\.sh/, /Changedstep\.yaml/]);
  const text = page.getByRole("region", { name: "step.yaml" });
  await expect(text).toContainText("-  replicas: { type: integer, default: 2, minimum: 1, maximum: 9 }");
  await expect(text).toContainText("+  replicas: { type: integer, default: 2, minimum: 1, maximum: 99 }");
  await expectAccessible(page, "changes of a step");
  await page.getByLabel("To", { exact: true }).selectOption("1.0.0");
  await expect(page.getByText("This is the first version: everything in it is new.")).toBeVisible();

  await show(page, "Versions");
  await page.getByRole("button", { name: "Yank version 1.1.0" }).click();
  const dialog = dialogOf(page);
  await expect(dialog.getByText("No pipeline has locked this version.")).toBeVisible();
  await dialog.getByRole("button", { name: "Yank" }).click();
  await expect(dialog.getByText("Give a reason: those who use it read it.")).toBeVisible();
  await expectAccessible(page, "dialog yank");
  await dialog.getByLabel("Reason").fill("Deletes the wrong copies");
  await dialog.getByRole("button", { name: "Yank" }).click();
  const row = page.getByRole("row", { name: /^1\.1\.0/ });
  await expect(row).toContainText("Yanked");
  await expect(row).toContainText("Deletes the wrong copies");
  await page.getByRole("button", { name: "Refuse version 1.1.0" }).click();
  await dialog.getByRole("button", { name: "Refuse" }).click();
  await expect(row).toContainText("Refused");
  await expect(row.getByRole("button")).toHaveCount(0);

  const developer = await open("developer", `${path}?version=1.1.0`);
  await expect(developer.getByText("stages that have locked it fail")).toBeVisible();
  await expect(developer.getByText(/can't be used now/)).toBeVisible();
  await show(developer, "Usage");
  await expect(developer.getByRole("heading", { name: "No pipeline uses it" })).toBeVisible();
  await show(developer, "Versions");
  await expect(developer.getByRole("row", { name: /^1\.0\.0/ })).toContainText("Usable");
  await expect(developer.getByRole("button", { name: /^Yank/ })).toHaveCount(0);
});

test("a pipeline that uses a step is updated to its newest version", async ({ open, stack, api }) => {
  test.setTimeout(90_000);
  const repository = git.repository(newName());
  repository.publish("scan", "1.0.0", "run: scan\n");
  const { id, name } = await createRegistry(api, repository.url);
  const slug = newName();
  const definition = `stages: { scan: { steps: [{ uses: ${name}/scan@v1 }] } }`;
  await api.send("owner", "POST", "/pipelines", { name: slug, slug, definition });
  repository.publish("scan", "1.1.0", "run: scan --all\n");
  await api.send("admin", "POST", `/step-registries/${id}/sync`);
  const page = await open("maintainer", `/o/${stack.org}/step-registries/${id}/steps/scan?view=usage`);
  const row = page.getByRole("row", { name: new RegExp(`^${slug}`) });
  await expect(row).toContainText("1.0.0");
  const newest = () => api.get<{ newest: { version: string } }>(`/step-registries/${id}/steps/scan`);
  await expect.poll(async () => (await newest()).newest.version, SYNCED).toBe("1.1.0");
  await row.getByRole("button", { name: `Update the steps of ${slug}` }).click();
  const dialog = dialogOf(page);
  await expect(dialog.getByRole("listitem")).toContainText("1.0.0 → 1.1.0");
  await expectAccessible(page, "dialog update steps");
  await dialog.getByRole("button", { name: "Update" }).click();
  await expect(row).toContainText("1.1.0");
  await expect(row).toContainText("version 2");
});

test("a registry is changed, disabled, enabled and deleted", async ({ open, stack, api }) => {
  test.setTimeout(60_000);
  const repository = git.repository(newName());
  repository.publish("scan", "1.0.0", "run: scan\n");
  const { id, name } = await createRegistry(api, repository.url);
  const page = await open("admin", `/o/${stack.org}/step-registries/${id}`);
  const dialog = dialogOf(page);
  // Before the first message: one that fades away has less contrast.
  await page.getByRole("button", { name: "Disable" }).click();
  await expect(dialog.getByRole("button", { name: "Disable" })).toBeVisible();
  await expectAccessible(page, "dialog disable a registry");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(dialog).toHaveCount(0);

  await page.getByRole("button", { name: "Change" }).click();
  await dialog.getByLabel("Minimum age", { exact: true }).fill("36");
  await dialog.getByLabel("Unit of the minimum age").selectOption("hours");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("region", { name: "Facts" })).toContainText("Minimum age1 d 12 h");
  await expect(page.getByRole("row", { name: /^scan/ })).toContainText("Too new");

  // A credential is written, and never shown.
  await page.getByRole("button", { name: "Change" }).click();
  await expect(dialog.getByText("Only for a private repository")).toBeVisible();
  await dialog.getByLabel("User name").fill("bot");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByText("Enter the password or token too.")).toBeVisible();
  await dialog.getByLabel("Password or token").fill("hunter2-hunter2");
  await expectAccessible(page, "dialog change a registry");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toHaveCount(0);
  await page.getByRole("button", { name: "Change" }).click();
  await expect(dialog.getByText("A credential is set.", { exact: false })).toBeVisible();
  await expect(dialog.getByLabel("Password or token")).toHaveValue("");
  await dialog.getByLabel(/^Remove the credential/).check();
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toHaveCount(0);

  // A concurrent change is not overwritten: the request has If-Match.
  await page.getByRole("button", { name: "Change" }).click();
  await dialog.getByLabel("Name", { exact: true }).fill(`${name}-x`);
  await api.send("owner", "PATCH", `/step-registries/${id}`, { minimumAgeSeconds: 0 });
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByText("Somebody else changed it")).toBeVisible();
  await dialog.getByRole("button", { name: "Close" }).click();
  await expect(dialog).toHaveCount(0);

  await page.getByRole("button", { name: "Disable" }).click();
  await dialog.getByRole("button", { name: "Disable" }).click();
  await expect(page.getByRole("heading", { name: "This registry is disabled" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Sync now" })).toHaveCount(0);
  await page.getByRole("button", { name: "Enable" }).click();
  await dialog.getByRole("button", { name: "Enable" }).click();
  await expect(page.getByText("Active")).toBeVisible();

  await page.getByRole("button", { name: "Delete" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL(`${stack.dashboard}/o/${stack.org}/step-registries`);
  await settled(page);
  await expect(page.getByRole("link", { name })).toHaveCount(0);
  await page.goto(`/o/${stack.org}/step-registries/${id}`);
  await expect(page.getByText(/^Deleted on/)).toBeVisible();
  await expect(page.getByRole("link", { name: "scan" })).toBeVisible();
});
