import { expect, test } from "vitest";
import type { ApprovalDetails, Deployment } from "@/api/types";
import { extraOf, gatesOf, standingOf } from "./standing";

const ME = "usr_me";
const pending = { status: "pending", votes: [], authors: [], selfApproval: false } as Pick<
  ApprovalDetails,
  "status" | "votes" | "authors" | "selfApproval"
>;
const startedBy = (id: string) => ({ createdBy: { id, name: id } }) as Deployment;
const vote = (more: object) => ({ by: { id: ME, name: "Me" }, decision: "approve", at: "", ...more }) as never;

test("the server's list says who may vote", () => {
  expect(standingOf(pending, ME, true, startedBy("usr_other"))).toEqual({ kind: "may" });
  expect(standingOf(pending, ME, false, startedBy("usr_other"))).toEqual({ kind: "other" });
});

test("until the list is read, nobody is refused", () => {
  expect(standingOf(pending, ME, undefined, startedBy("usr_other"))).toEqual({ kind: "may" });
});

test("whoever started or retried it reads that somebody else decides", () => {
  expect(standingOf(pending, ME, false, startedBy(ME))).toEqual({ kind: "own", because: "started" });
  const forMe = { ...startedBy("usr_ci"), onBehalfOf: { id: ME, name: "Me" } };
  expect(standingOf(pending, ME, false, forMe)).toEqual({ kind: "own", because: "started" });
  const retried = { ...startedBy("usr_other"), retriedBy: { id: ME, name: "Me", kind: "user" as const } };
  expect(standingOf(pending, ME, false, retried)).toEqual({ kind: "own", because: "retried" });
});

test("whoever saved a version of the definition that is new reads that somebody else decides", () => {
  const authored = { ...pending, authors: [{ id: ME, name: "Me" }] };
  const other = startedBy("usr_other");
  expect(standingOf(authored, ME, false, other)).toEqual({ kind: "own", because: "authored" });
  expect(standingOf(authored, "usr_third", true, other)).toEqual({ kind: "may" });
  expect(standingOf({ ...authored, selfApproval: true }, ME, true, other)).toEqual({ kind: "may" });
});

test("a definition can allow to approve one's own", () => {
  expect(standingOf({ ...pending, selfApproval: true }, ME, true, startedBy(ME))).toEqual({ kind: "may" });
});

test("a vote is shown, and one that was withdrawn is not", () => {
  expect(standingOf({ ...pending, votes: [vote({})] }, ME, false, undefined)).toEqual({
    kind: "voted",
    decision: "approve",
  });
  expect(standingOf({ ...pending, votes: [vote({ withdrawnAt: "now" })] }, ME, true, undefined)).toEqual({
    kind: "may",
  });
});

test("nobody votes on what is decided", () => {
  expect(standingOf({ ...pending, status: "expired" }, ME, true, undefined)).toEqual({ kind: "decided" });
});

test("approvals beyond the rules are counted", () => {
  const rule = { groups: [], roles: [], users: [], count: 1 };
  expect(extraOf({ needed: 2, rules: [rule] })).toBe(1);
  expect(extraOf({ needed: 2, rules: [rule, rule] })).toBe(0);
});

test("a stage's gates are those that it waits for", () => {
  const waitingOn = [
    { kind: "approval", stage: "release" },
    { kind: "freeze", stage: "release" },
    { kind: "freeze", stage: "other" },
  ] as Deployment["waitingOn"];
  expect(gatesOf({ waitingOn }, "release")).toEqual(["approval", "freeze"]);
  expect(gatesOf({ waitingOn }, "other")).toEqual(["freeze"]);
});
