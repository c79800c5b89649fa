import { expect, test } from "vitest";
import type { Environment, Lock } from "@/api/types";
import { keepOrder, longestFree, matches, order, tallyOf, type Viewer, viewOf } from "./view";

const MAYA: Viewer = { userId: "usr_maya", role: "developer", places: new Map() };
const holder = (id: string) => ({
  id,
  name: id === "usr_maya" ? "Maya Brandt" : "Tomás Ibarra",
  kind: "user" as const,
});
const held = (id: string, more: Partial<Lock> = {}): Lock => ({
  status: "locked",
  queueLength: 0,
  holder: holder(id),
  ...more,
});
const FREE: Lock = { status: "free", queueLength: 0 };

function environment(envName: string, lock: Lock, more: Partial<Environment> = {}): Environment {
  return { envName, labels: [], configuration: {}, lock, ...more } as Environment;
}

const asked = {
  requestedBy: holder("usr_june"),
  requestedAt: "",
  dueAt: "",
  onSilence: "accept",
  sessionId: "ses_2",
} as const;
const teardown = { deploymentId: "dep_1", purpose: "teardown", commitId: "4b825dc" } as const;

test.each([
  ["free", environment("qa-1", FREE)],
  ["yours", environment("qa-1", held("usr_maya"))],
  ["your_turn", environment("qa-1", held("usr_maya", { confirmBy: "2026-11-16T10:00:00Z" }))],
  ["held", environment("qa-1", held("usr_tomas"))],
  ["held", environment("qa-1", held("usr_tomas", { confirmBy: "2026-11-16T10:00:00Z" }))],
  ["asked_for", environment("qa-1", held("usr_tomas", { handover: asked }))],
  ["cleaning_up", environment("qa-1", FREE, { workSlot: teardown })],
  ["held", environment("qa-1", held("usr_tomas"), { workSlot: teardown })],
])("%s", (state, subject) => {
  expect(viewOf(subject, MAYA).state).toBe(state);
});

test("a person in line sees the place, also while the environment is asked for", () => {
  const viewer = { ...MAYA, places: new Map([["qa-1", { sessionId: "ses_2", position: 2 }]]) };
  const view = viewOf(environment("qa-1", held("usr_tomas", { handover: asked })), viewer);
  expect(view).toMatchObject({ state: "in_line", place: { position: 2 } });
});

test("the order is: your turn, yours, in line, then by name with numbers as numbers", () => {
  const viewer = { ...MAYA, places: new Map([["z-line", { sessionId: "ses_2", position: 1 }]]) };
  const board = [
    environment("pr-10", FREE),
    environment("pr-9", FREE),
    environment("z-line", held("usr_tomas")),
    environment("y-mine", held("usr_maya")),
    environment("x-turn", held("usr_maya", { confirmBy: "2026-11-16T10:00:00Z" })),
  ];
  expect(order(board, viewer).map(({ envName }) => envName)).toEqual(["x-turn", "y-mine", "z-line", "pr-9", "pr-10"]);
});

test("a frozen order keeps what is on the screen and adds new environments at the end", () => {
  const board = [environment("a", FREE), environment("b", FREE), environment("c", FREE)];
  expect(keepOrder(board, ["b", "gone", "a"]).map(({ envName }) => envName)).toEqual(["b", "a", "c"]);
});

test("the tally counts each environment once, and everybody in line", () => {
  const board = [
    environment("a", FREE),
    environment("b", held("usr_maya", { queueLength: 2 })),
    environment("c", held("usr_tomas", { queueLength: 1 })),
  ];
  expect(tallyOf(board, MAYA)).toEqual({ all: 3, free: 1, yours: 1, held: 1, inLine: 3 });
});

test("a filter finds names, holders, labels and contexts", () => {
  const subject = environment("qa-1", held("usr_tomas", { context: "Payments run" }), { labels: ["big"] });
  for (const filter of ["QA", "tomás", "big", "payments qa"]) expect(matches(subject, filter)).toBe(true);
  expect(matches(subject, "maya")).toBe(false);
});

test("any free one is the one that was free for the longest time, and not one that is cleaned up or waited for", () => {
  const board = [
    environment("a", FREE, { freeSince: "2026-11-16T11:00:00Z" }),
    environment("b", FREE, { freeSince: "2026-11-16T10:00:00Z" }),
    environment("c", FREE, { freeSince: "2026-11-16T09:00:00Z", workSlot: teardown }),
    environment("d", { status: "free", queueLength: 1 }, { freeSince: "2026-11-16T08:00:00Z" }),
  ];
  expect(longestFree(board)?.envName).toBe("b");
  expect(longestFree([environment("e", held("usr_tomas"))])).toBeUndefined();
});
