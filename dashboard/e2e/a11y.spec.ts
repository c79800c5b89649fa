// Every screen and dialog in both themes: axe finds nothing serious, and nothing scrolls sideways at 360 px or at
// a zoom of 200 %.
import type { Page } from "@playwright/test";
import { Api, createPipeline, environmentsOf } from "./support/api";
import { expect, settled, test } from "./support/fixtures";
import { expectAccessible, expectNoSidewaysScroll } from "./support/pages";
import { partOf, screensOf } from "./support/screens";
import { PEOPLE } from "./support/stack";

async function check(page: Page, name: string): Promise<void> {
  await page.setViewportSize({ width: 1440, height: 900 });
  await settled(page);
  await expectAccessible(page, name);
  // The theme changes nothing but colors.
  await page.emulateMedia({ colorScheme: "dark" });
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await expectAccessible(page, `${name}, dark`, ["color-contrast"]);
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 360, height: 740 });
  await expectNoSidewaysScroll(page, `${name} at 360 px`);
  await page.setViewportSize({ width: 720, height: 450 });
  await expectNoSidewaysScroll(page, `${name} at 200 %`);
}

const NOBODY = undefined;

// A test per person, so that a failure repeats the screens of one browser only.
for (const person of [NOBODY, ...PEOPLE]) {
  test(`every screen of ${person ?? "a stranger"} is accessible`, async ({ open, stack, api }) => {
    test.setTimeout(300_000);
    const screens = partOf(await screensOf(stack, api)).filter((screen) => screen.person === person);
    const [first] = screens;
    if (!first) return;
    const page = await open(person, first.path);
    for (const { name, path } of screens) {
      await page.goto(path);
      await check(page, name);
    }
  });
}

test("every dialog of the board is accessible", async ({ open, stack }) => {
  test.setTimeout(120_000);
  const pipeline = await createPipeline(new Api(stack), environmentsOf(["qa-1", "qa-2", "qa-3"]));
  await pipeline.claim("developer", "qa-1");
  await pipeline.claim("secondDeveloper", "qa-2");
  const page = await open("developer", `/o/${stack.org}/pipelines/${pipeline.slug}`);
  const openers: [name: string, env: string, label: string][] = [
    ["deploy", "qa-1", "Deploy"],
    ["ask", "qa-2", "Ask for it"],
    ["claim", "qa-3", "Claim"],
  ];
  for (const [name, env, label] of openers) {
    await page
      .locator(`[data-env="${env}"]`)
      .getByRole("button", { name: new RegExp(`^${label}`) })
      .click();
    await expect(page.getByRole("dialog")).toBeVisible();
    await expectAccessible(page, `dialog ${name}`);
    if (name === "ask") {
      await page.getByRole("dialog").getByRole("button", { name: "Take over by force" }).click();
      await expect(page.getByLabel("Reason")).toBeVisible();
      await expectAccessible(page, "sheet force");
    }
    await page.keyboard.press("Escape");
    await expect(page.getByRole("dialog")).toBeHidden();
  }
  await page.keyboard.press("Shift+?");
  await expect(page.getByRole("dialog", { name: "Keys" })).toBeVisible();
  await expectAccessible(page, "dialog keys");
});
