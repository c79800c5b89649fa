import { expect, test } from "vitest";
import type { Deployment, Stage } from "@/api/types";
import { actorsOf, whoOf } from "./actors";

const maya = { id: "usr_1", name: "Maya", kind: "user" } as NonNullable<Deployment["retriedBy"]>;
const tomas = { ...maya, id: "usr_2", name: "Tomas" };

test("a rollback names who rolled back, and not only the first author", () => {
  expect(actorsOf({ rollback: true, retriedBy: maya })).toEqual([{ name: "Rolled back by", who: "Maya" }]);
  expect(actorsOf({ rollback: false, retriedBy: maya })).toEqual([{ name: "Retried by", who: "Maya" }]);
});

test("overrides and cancellations are among them", () => {
  const gateOverridden = {
    by: { id: "usr_3", name: "Ana" },
    gates: ["approval"],
    reason: "outage",
    at: "2026-11-18T10:00:00Z",
  };
  const stages = [{ name: "build" }, { name: "release", gateOverridden }] as unknown as Stage[];
  expect(actorsOf({ stages, canceledBy: tomas }).map(({ name, who }) => `${name} ${who}`)).toEqual([
    "Overridden by Ana, in release",
    "Canceled by Tomas",
  ]);
});

test("nobody acted on a new deployment", () => {
  expect(actorsOf({})).toEqual([]);
  expect(whoOf(maya)).toBe("Maya");
  expect(whoOf({ name: "CI", token: "ci/storefront" })).toBe("CI (ci/storefront)");
});
