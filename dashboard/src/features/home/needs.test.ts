import { expect, test } from "vitest";
import type { Approval, Deployment, ListedSession } from "@/api/types";
import { needsOf } from "./needs";

const NOW = Date.UTC(2026, 10, 16, 12);
const iso = (hours: number) => new Date(NOW - hours * 3_600_000).toISOString();
const session = (more: object) =>
  ({ sessionId: "ses_1", envName: "qa-1", status: "active", ...more }) as unknown as ListedSession;
const failed = (more: object) =>
  ({
    id: "dep_1",
    pipelineId: "pip_1",
    envName: "qa-1",
    status: "failed",
    createdBy: { id: "usr_1" },
    createdAt: iso(2),
    endedAt: iso(1),
    ...more,
  }) as unknown as Deployment;
const approval = { id: "apr_1" } as unknown as Approval;
const kinds = (sessions: ListedSession[], deployments: Deployment[], approvals: Approval[] = []) =>
  needsOf(sessions, approvals, deployments, "usr_1", NOW).map(({ kind }) => kind);

test("turns come first, then hand-overs, then approvals, then failures", () => {
  const asked = session({ handover: { requestedBy: { name: "June" } } });
  const turn = session({ confirmBy: iso(0) });
  expect(kinds([asked, turn, session({})], [failed({})], [approval])).toEqual([
    "turn",
    "handover",
    "approval",
    "failure",
  ]);
});

test("failures of others, old ones and settled ones need nobody", () => {
  expect(kinds([], [failed({ createdBy: { id: "usr_2" } })])).toEqual([]);
  expect(kinds([], [failed({ endedAt: iso(30) })])).toEqual([]);
  expect(kinds([], [failed({}), failed({ id: "dep_2", status: "running", createdAt: iso(0) })])).toEqual([]);
});
