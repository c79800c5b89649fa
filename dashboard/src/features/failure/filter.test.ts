import { expect, test } from "vitest";
import { filterOf, isFiltered } from "./filter";

test("known values of the address are filters", () => {
  const filter = filterOf({ pipeline: "storefront", verdict: "flaky", since: "7d" });
  expect(filter).toEqual({ pipeline: "storefront", verdict: "flaky", since: "7d" });
  expect(isFiltered(filter)).toBe(true);
});

test("others count as left out", () => {
  const filter = filterOf({ pipeline: "", verdict: "<script>", since: "toString" });
  expect(filter).toEqual({ pipeline: undefined, verdict: undefined, since: undefined });
  expect(isFiltered(filter)).toBe(false);
});
