import { expect, test } from "vitest";
import type { Summary } from "@/api/types";
import { countsOf, filterOf, groupOfState, labelsOf, offsetOf } from "./all";

test("the address is the filter of the server", () => {
  expect(filterOf({})).toEqual({});
  expect(filterOf({ q: " qa ", state: "free", label: "gpu,big" })).toEqual({
    q: "qa",
    status: "free",
    label: ["gpu", "big"],
  });
  expect(filterOf({ state: "taken" })).toEqual({ status: "locked" });
  expect(filterOf({ state: "yours" })).toEqual({ holder: "me" });
});

test("an unknown state or offset counts as none", () => {
  expect(groupOfState("borrowed")).toBe("all");
  expect(offsetOf("-5")).toBe(0);
  expect(offsetOf("x")).toBe(0);
  expect(offsetOf("200")).toBe(200);
});

test("taken are all that are not free", () => {
  const summary = {
    environments: { total: 8, free: 2 },
    queuedSessions: 6,
    yours: { held: 1, queued: 0, turns: 0, handovers: 0 },
  } as Summary;
  expect(countsOf(summary)).toEqual({ all: 8, free: 2, yours: 1, taken: 6, inLine: 6 });
  expect(countsOf(undefined)).toBeUndefined();
});

test("labels are listed once, with the chosen one", () => {
  expect(labelsOf([{ labels: ["qa"] }, { labels: ["gpu", "qa"] }], "big")).toEqual(["big", "gpu", "qa"]);
});
