// Pictures of every screen, wide and narrow, light and dark, into the folder GREENROOM_SHOTS.
import { settled, test } from "./support/fixtures";
import { byPerson, screensOf } from "./support/screens";

const FOLDER = process.env.GREENROOM_SHOTS;
const WIDTHS = [1440, 390] as const;
const THEMES = ["light", "dark"] as const;

test.skip(!FOLDER, "GREENROOM_SHOTS is not set");

for (const width of WIDTHS) {
  for (const theme of THEMES) {
    test(`pictures at ${width}, ${theme}`, async ({ open, stack, api }) => {
      test.setTimeout(300_000);
      for (const { person, screens } of byPerson(await screensOf(stack, api))) {
        const page = await open(person, "/dev/ui", { width, theme });
        for (const { name, path } of screens) {
          await page.goto(path);
          await settled(page);
          // What is left is the first tick of the clocks.
          await page.waitForTimeout(300);
          await page.screenshot({ path: `${FOLDER}/${name}-${width}-${theme}.png`, fullPage: true });
        }
        await page.context().close();
      }
    });
  }
}
