import { expect, test } from "vitest";
import { releaseQuestion } from "./release";

test("a release asks if a deployment runs or somebody waits", () => {
  expect(releaseQuestion({ isRunning: false, waiting: 0 })).toBeUndefined();
  expect(releaseQuestion({ isRunning: true, waiting: 0 })).toBe("A deployment is still running in it. It is canceled.");
  expect(releaseQuestion({ isRunning: false, waiting: 2 })).toBe(
    "2 in line: the next one gets it at once, and you can't take the release back.",
  );
  expect(releaseQuestion({ isRunning: true, waiting: 1 })).toBe(
    "A deployment is still running in it. It is canceled. 1 in line: the next one gets it at once, and you can't take the release back.",
  );
});
