import { expect, test } from "vitest";
import type { Analysis, EvidenceItem } from "@/api/types";
import { callOf, citedOf, explanationsOf } from "./explained";

const model = { name: "m-1", host: "models.example", evidence: [], suspects: [], enough: true };
const analysis = (id: string, other: Partial<Analysis>) =>
  ({ id, failureId: "fai_1", status: "succeeded", ...other }) as Analysis;

const plain = analysis("plain", { model: null });
const good = analysis("good", { model });
const unsure = analysis("unsure", { model: { ...model, enough: false } });
const failed = analysis("failed", { status: "failed", reason: "model_failed", model: { ...model, enough: null } });
const live = analysis("live", { status: "analyzing", model: null });
const refused = analysis("refused", { status: "refused", reason: "budget_exhausted", model: null });

const idsOf = (...newestFirst: Analysis[]) => {
  const { attempt, explained } = explanationsOf(newestFirst, "fai_1");
  return [attempt?.id, explained?.id];
};

test("the newest explanation is shown, and the newest attempt if it is another one", () => {
  expect(idsOf()).toEqual([undefined, undefined]);
  expect(idsOf(plain)).toEqual([undefined, undefined]);
  expect(idsOf(plain, good)).toEqual([undefined, "good"]);
  expect(idsOf(unsure, good)).toEqual([undefined, "unsure"]);
  expect(idsOf(failed, good)).toEqual(["failed", "good"]);
  expect(idsOf(good, failed)).toEqual([undefined, "good"]);
  expect(idsOf(live)).toEqual(["live", undefined]);
  expect(idsOf(refused, failed)).toEqual(["refused", undefined]);
});

test("analyses of other failures, and those that waited in vain for the evidence, do not count", () => {
  expect(idsOf({ ...good, failureId: "fai_2" })).toEqual([undefined, undefined]);
  expect(idsOf(analysis("late", { status: "failed", reason: "evidence_not_collected" }))).toEqual([
    undefined,
    undefined,
  ]);
});

test("only evidence that exists is cited", () => {
  const evidence = [{ id: "E1" }, { id: "E2" }] as EvidenceItem[];
  expect(citedOf(["E2", "E7", "E1"], evidence).map(({ id }) => id)).toEqual(["E2", "E1"]);
});

test("an explanation that is used again was sent for another analysis", () => {
  expect(callOf(good)).toBe("good");
  expect(callOf({ id: "new", model: { ...model, reusedFrom: "old" } })).toBe("old");
});
