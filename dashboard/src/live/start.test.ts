import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { keys } from "@/api/keys";
import { forgetReads } from "./start";

test("reads of an organization from before are forgotten, except who is signed in", () => {
  const queries = new QueryClient();
  const kept = [keys.me("acme"), keys.summary("other"), ["me"]];
  const forgotten = [keys.summary("acme"), keys.deployment("acme", "dep_1"), keys.deployments("acme")];
  for (const key of [...kept, ...forgotten]) queries.setQueryData(key, "before");
  forgetReads(queries, "acme");
  expect(kept.map((key) => queries.getQueryData(key))).toEqual(["before", "before", "before"]);
  expect(forgotten.map((key) => queries.getQueryData(key))).toEqual([undefined, undefined, undefined]);
});
