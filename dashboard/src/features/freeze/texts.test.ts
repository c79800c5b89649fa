import { expect, test } from "vitest";
import type { Freeze } from "@/api/types";
import { coversText, nextText, whenTexts } from "./texts";

const NOW = Date.parse("2026-11-17T10:00:00Z");
const freeze = (parts: Partial<Freeze>): Freeze =>
  ({ pipelines: [], environments: [], weekly: [], ...parts }) as unknown as Freeze;

test("each window is a line with its zone", () => {
  const weekly = [{ from: "fri 16:00", to: "mon 08:00" }];
  expect(whenTexts(freeze({ weekly, zone: "Europe/Berlin" }), NOW)).toEqual([
    "Friday 16:00 to Monday 08:00, Europe/Berlin",
  ]);
});

test("empty lists cover everything", () => {
  expect(coversText(freeze({}), String)).toBe("all lasting environments of all pipelines");
  const named = freeze({ environments: ["production"], pipelines: ["pip_1"] });
  expect(coversText(named, () => "Storefront")).toBe("production of Storefront");
});

test("a freeze with a beginning and an end repeats nothing", () => {
  expect(nextText(freeze({ nextFrom: "2026-12-21T16:00:00Z" }), "coming", NOW)).toBe("");
  expect(nextText(freeze({ until: "2026-11-20T16:00:00Z" }), "active", NOW)).toMatch(/^until Fri/);
});

test("the day of the end is left out only if it is that of the beginning", () => {
  const [short] = whenTexts(freeze({ from: "2026-11-20T12:00:00Z", to: "2026-11-20T12:30:00Z" }), NOW);
  expect(short).toMatch(/^Fri.* to \d\d:30$/);
  // It ends on the day of the reader, which is not that of the beginning.
  const [long] = whenTexts(freeze({ from: "2026-11-15T12:00:00Z", to: "2026-11-17T10:00:00Z" }), NOW);
  expect(long).toMatch(/^Sun.* to Tue/);
});
