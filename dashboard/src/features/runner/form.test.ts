import { expect, test } from "vitest";
import type { RunnerPool } from "@/api/types";
import { commandOf, isPoolName, poolChangeOf, poolFormOf } from "./form";

const pool = {
  id: "pol_1",
  name: "default",
  network: "bridge",
  pipelines: null,
  environments: ["qa-1", "pr-*"],
  queued: 0,
  running: 0,
  runners: 1,
} as unknown as RunnerPool;

test("an unchanged form changes nothing", () => {
  expect(poolChangeOf(pool, poolFormOf(pool))).toEqual({});
});

test("only what has changed is sent, and null removes a restriction", () => {
  const form = { ...poolFormOf(pool), environments: " ", pipelines: ["pip_1"] };
  expect(poolChangeOf(pool, form)).toEqual({ environments: null, pipelines: ["pip_1"] });
  expect(poolChangeOf(pool, { ...poolFormOf(pool), network: "none" })).toEqual({ network: "none" });
});

test("the order of names is no change", () => {
  expect(poolChangeOf(pool, { ...poolFormOf(pool), environments: "pr-*, qa-1" })).toEqual({});
});

test("names of pools are those of the API", () => {
  expect(isPoolName("gpu-2")).toBe(true);
  for (const name of ["", "2gpu", "GPU", "a_b", "a".repeat(64)]) expect(isPoolName(name)).toBe(false);
});

test("the command names this server", () => {
  expect(commandOf("https://greenroom.example.com")).toContain("GREENROOM_URL=https://greenroom.example.com/api/v1");
});
