import { expect, test } from "vitest";
import type { Pipeline } from "@/api/types";
import { heightOf, marksOf, statusOf, succeededOf } from "./status";

const recent = ["failed", "succeeded", "canceled"].map((status, index) => ({
  id: `dep_${index}`,
  status,
})) as NonNullable<Pipeline["recentDeployments"]>;

test("an unknown status counts as all", () => {
  expect(statusOf("stopped")).toBe("stopped");
  expect(statusOf("asleep")).toBe("all");
  expect(statusOf(undefined)).toBe("all");
});

test("the newest mark stands last", () => {
  expect(marksOf(recent).map(({ id }) => id)).toEqual(["dep_2", "dep_1", "dep_0"]);
});

test("only what has succeeded counts as such", () => {
  expect(succeededOf(recent)).toBe(1);
});

test("what came to nothing is low", () => {
  expect(heightOf("slate")).toBe("h-2");
  expect(heightOf("red")).toBe("h-4");
});
