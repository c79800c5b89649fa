import { expect, test } from "vitest";
import type { Freeze } from "@/api/types";
import { changeOf, emptyForm, type Form, formOf, localOf, mistakesOf, requestOf } from "./form";

const form = (parts: Partial<Form>): Form => ({
  ...emptyForm("Europe/Berlin"),
  name: " Christmas ",
  reason: "Peak sales",
  ...parts,
});

const freeze = (parts: Partial<Freeze>): Freeze =>
  ({ name: "Weekends", reason: "Nobody is on call", pipelines: [], environments: [], weekly: [], ...parts }) as Freeze;

const weekly = freeze({ weekly: [{ from: "fri 16:00", to: "mon 08:00" }], zone: "Europe/Berlin" });
const once = freeze({ from: "2026-12-21T16:00:30Z", to: "2027-01-04T07:00:00Z" });

test("mistakes are found by the kind of freeze", () => {
  expect(mistakesOf(emptyForm("UTC"))).toEqual(["name", "reason", "from", "to"]);
  expect(mistakesOf(form({ from: "2026-12-21T17:00", to: "2026-12-21T17:00" }))).toEqual(["to"]);
  expect(mistakesOf(form({ kind: "weekly" }))).toEqual([]);
  expect(mistakesOf(form({ kind: "weekly", windows: [] }))).toEqual(["windows"]);
});

test("a request has either times or windows", () => {
  const local = localOf("2026-12-21T16:00:00Z");
  expect(
    requestOf(form({ from: local, to: localOf("2027-01-04T07:00:00Z"), environments: "production, eu eu" })),
  ).toEqual({
    name: "Christmas",
    reason: "Peak sales",
    pipelines: [],
    environments: ["production", "eu"],
    from: "2026-12-21T16:00:00.000Z",
    to: "2027-01-04T07:00:00.000Z",
  });
  expect(requestOf(form({ kind: "weekly" }))).toMatchObject({
    weekly: [{ from: "fri 16:00", to: "mon 08:00" }],
    zone: "Europe/Berlin",
  });
});

test("only what has changed is sent, and an untouched time keeps its seconds", () => {
  expect(changeOf(weekly, formOf(weekly, "UTC"))).toEqual({});
  expect(changeOf(once, { ...formOf(once, "UTC"), reason: "Longer" })).toEqual({ reason: "Longer" });
  expect(changeOf(weekly, { ...formOf(weekly, "UTC"), zone: "Asia/Tokyo" })).toEqual({ zone: "Asia/Tokyo" });
});

test("another kind replaces the times of the one before", () => {
  expect(changeOf(once, { ...formOf(once, "UTC"), kind: "weekly" })).toEqual({
    weekly: [{ from: "fri 16:00", to: "mon 08:00" }],
    zone: "UTC",
    from: null,
    to: null,
  });
  const times = { from: localOf(once.from), to: localOf(once.to) };
  expect(changeOf(weekly, { ...formOf(weekly, "UTC"), kind: "once", ...times })).toMatchObject({
    weekly: [],
    zone: null,
    to: "2027-01-04T07:00:00.000Z",
  });
});
