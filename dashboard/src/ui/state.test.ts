import { expect, test } from "vitest";
import { ALL_STATES, deploymentState, environmentState, sessionState, workState } from "./state";

test("an unknown state is shown with its raw word", () => {
  expect(workState("hibernating")).toMatchObject({ tone: "slate", word: "hibernating" });
  expect(workState("constructor")).toMatchObject({ tone: "slate", word: "constructor" });
});

test("a deployment that left out production because it knew no branch is not green", () => {
  const skippedEnvironments = ["production", "customer"];
  expect(deploymentState({ status: "succeeded", skippedEnvironments })).toMatchObject({
    tone: "amber",
    word: "Skipped production, customer",
  });
  expect(deploymentState({ status: "succeeded", skippedEnvironments: [] }).tone).toBe("green");
  expect(deploymentState({ status: "succeeded" }).tone).toBe("green");
  expect(deploymentState({ status: "failed", skippedEnvironments }).tone).toBe("red");
});

test("an active session of the reader is in the limelight", () => {
  expect(sessionState("active", true).tone).toBe("gold");
  expect(sessionState("active").tone).toBe("slate");
});

test("gold is used for nothing but what is yours", () => {
  const gold = Object.values(ALL_STATES)
    .flat()
    .filter((state) => state.tone === "gold");
  expect(gold.map((state) => state.word).sort()).toEqual(["Active", "Your turn", "Yours"]);
});

test("the place in line is part of the word", () => {
  expect(environmentState("in_line", 2).word).toBe("In line, 2nd");
  expect(environmentState("in_line").word).toBe("In line");
});
