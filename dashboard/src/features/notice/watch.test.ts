import { expect, test } from "vitest";
import { includes, toggled } from "./watch";

const QA_1 = { org: "acme", pipeline: "storefront", env: "qa-1" };

test("an environment is watched until it is chosen again", () => {
  const one = toggled([], QA_1);
  expect(includes(one, { ...QA_1 })).toBe(true);
  expect(toggled(one, { ...QA_1 })).toEqual([]);
});

test("the same name in another pipeline is another environment", () => {
  const one = toggled([], QA_1);
  expect(includes(one, { ...QA_1, pipeline: "search" })).toBe(false);
  expect(toggled(one, { ...QA_1, pipeline: "search" })).toHaveLength(2);
});
