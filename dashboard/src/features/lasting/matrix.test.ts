import { expect, test } from "vitest";
import type { LastingEnvironment } from "@/api/types";
import { columnsOf, rowsOf } from "./matrix";

const of = (pipeline: string, ...names: string[]) =>
  names.map((name) => ({ name, pipelineId: `pip_${pipeline}`, pipelineSlug: pipeline }) as LastingEnvironment);

const columns = (...lists: LastingEnvironment[][]) => columnsOf(rowsOf(lists.flat()));

test("a pipeline is one row, with a cell for each of its environments", () => {
  const rows = rowsOf([...of("docs", "public"), ...of("shop", "staging", "production")]);
  expect(rows.map(({ slug, cells }) => [slug, [...cells.keys()]])).toEqual([
    ["docs", ["public"]],
    ["shop", ["staging", "production"]],
  ]);
});

test("staging comes before production, and both before what a single pipeline has", () => {
  expect(columns(of("docs", "public"), of("api", "production"), of("shop", "staging", "production"))).toEqual([
    "staging",
    "production",
    "public",
  ]);
});

test("the order of definitions is kept between pipelines", () => {
  expect(columns(of("a", "b", "c"), of("z", "a", "b"))).toEqual(["a", "b", "c"]);
});

test("definitions that contradict each other still have all columns", () => {
  expect(columns(of("a", "x", "y"), of("b", "y", "x"))).toEqual(["x", "y"]);
  expect(columns()).toEqual([]);
});
