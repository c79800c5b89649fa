import { expect, test } from "vitest";
import { layOut } from "./graph";

const stage = (key: string, ...needs: string[]) => ({ key, needs });
const places = (...stages: ReturnType<typeof stage>[]) =>
  Object.fromEntries(layOut(stages).nodes.map(({ key, column, row }) => [key, [column, row]]));

test("a chain is a row", () => {
  expect(places(stage("build"), stage("deploy", "build"), stage("release", "deploy"))).toEqual({
    build: [0, 0],
    deploy: [1, 0],
    release: [2, 0],
  });
});

test("stages that need the same stage are in one column, and a join is after the longest way", () => {
  const graph = places(
    stage("build"),
    stage("unit", "build"),
    stage("e2e", "unit"),
    stage("lint", "build"),
    stage("deploy", "e2e", "lint"),
  );
  expect(graph).toEqual({ build: [0, 0], unit: [1, 0], lint: [1, 1], e2e: [2, 0], deploy: [3, 0] });
});

test("an unknown need has no edge, and a circle ends", () => {
  expect(layOut([stage("a", "gone")]).edges).toEqual([]);
  expect(layOut([stage("a", "b"), stage("b", "a")]).nodes).toHaveLength(2);
});

test("100 stages that all need each other's predecessors are laid out in a moment", () => {
  const keys = Array.from({ length: 100 }, (_, index) => `s${index}`);
  const stages = keys.map((key, index) => ({ key, needs: keys.slice(0, index) }));
  expect(layOut(stages).columns).toBe(100);
});
