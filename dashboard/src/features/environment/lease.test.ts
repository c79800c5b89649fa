import { expect, test } from "vitest";
import type { Environment, Lock } from "@/api/types";
import { leaseOf, toneOf } from "./lease";
import type { View } from "./view";

const HOUR = 3_600_000;
const START = Date.UTC(2026, 10, 16, 12);
const at = (hours: number) => new Date(START + hours * HOUR).toISOString();
const lock: Lock = { status: "locked", queueLength: 0, claimedAt: at(0), expiresAt: at(2), maxExpiresAt: at(20) };
const configuration = { lease: { defaultSeconds: 14_400, maxSeconds: 86_400 } };
const environment = (more: Partial<Lock> = {}) =>
  ({ envName: "qa-1", labels: [], configuration, lock: { ...lock, ...more } }) as Environment;
const held: View = { state: "held", door: "held", place: undefined };
const yours: View = { state: "yours", door: "yours", place: undefined };

test("a lease fills a rail of the default length", () => {
  expect(leaseOf(environment(), held)).toEqual({
    kind: "lease",
    endsAt: START + 2 * HOUR,
    span: 4 * HOUR,
    maxEndsAt: START + 20 * HOUR,
  });
});

test("a turn counts down to its confirmation", () => {
  const turn = environment({ confirmBy: at(1) });
  expect(leaseOf(turn, { ...yours, state: "your_turn" })).toMatchObject({
    kind: "turn",
    endsAt: START + HOUR,
    span: HOUR,
  });
});

test("a hand-over that is accepted by silence counts down for others, and its lapse is named", () => {
  const handover = {
    requestedBy: { id: "u", name: "June", kind: "user" as const },
    requestedAt: at(0),
    dueAt: at(1),
    sessionId: "s",
  };
  const accept = environment({ handover: { ...handover, onSilence: "accept" } });
  const lapse = environment({ handover: { ...handover, onSilence: "lapse" } });
  expect(leaseOf(accept, held)?.kind).toBe("handover");
  expect(leaseOf(lapse, held)?.kind).toBe("lapse");
  expect(leaseOf(accept, yours)?.kind).toBe("lease");
});

test("the tone warns below ten minutes", () => {
  const lease = { kind: "lease", endsAt: START, span: HOUR, maxEndsAt: undefined } as const;
  expect(toneOf(lease, yours, START - HOUR)).toBe("gold");
  expect(toneOf(lease, held, START - HOUR)).toBe("slate");
  expect(toneOf(lease, yours, START - 60_000)).toBe("amber");
});

test("a free environment has no countdown", () => {
  expect(leaseOf({ ...environment(), lock: { status: "free", queueLength: 0 } }, held)).toBeUndefined();
});
