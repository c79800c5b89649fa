import { expect, test } from "vitest";
import { diffLines, fileChanges } from "./diff";

const sum = (digit: string) => digit.repeat(64);

test("files are added, removed and changed", () => {
  const diff = [
    "--- 1.0.0",
    "+++ 1.1.0",
    "@@ -1,4 +1,4 @@",
    ` 100644 README.md ${sum("0")}`,
    `-100644 run.sh ${sum("1")}`,
    `+100755 run.sh ${sum("1")}`,
    `-100644 old name.txt ${sum("2")}`,
    `+100644 lib/new.sh ${sum("3")}`,
    `-100644 step.yaml ${sum("4")}`,
    `+100644 step.yaml ${sum("5")}`,
    "",
  ].join("\n");
  expect(fileChanges(diff)).toEqual([
    { path: "lib/new.sh", kind: "added" },
    { path: "old name.txt", kind: "removed" },
    { path: "run.sh", kind: "changed", mode: { before: "100644", after: "100755" } },
    { path: "step.yaml", kind: "changed" },
  ]);
  expect(fileChanges("")).toEqual([]);
});

test("the lines of a diff lose their signs, and the head is left out", () => {
  const diff = "--- 1.0.0\n+++ 1.1.0\n@@ -1,2 +1,2 @@\n name: scan\n-run: a\n+run: b\n--- \n";
  expect(diffLines(diff)).toEqual([
    { kind: "place", text: "@@ -1,2 +1,2 @@" },
    { kind: "same", text: "name: scan" },
    { kind: "removed", text: "run: a" },
    { kind: "added", text: "run: b" },
    { kind: "removed", text: "-- " },
  ]);
  expect(diffLines("")).toEqual([]);
});
