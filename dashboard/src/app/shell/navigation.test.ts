import { expect, test } from "vitest";
import { paths } from "@/lib/paths";
import { type Entry, isCurrent, MAIN } from "./navigation";

const pipelines: Entry = { label: "Pipelines", to: (org) => paths.pipelines(org) };
const home: Entry = { label: "Home", to: (org) => paths.home(org) };

test("an entry is current on its page and below it", () => {
  expect(isCurrent(pipelines, "acme", "/o/acme/pipelines")).toBe(true);
  expect(isCurrent(pipelines, "acme", "/o/acme/pipelines/storefront")).toBe(true);
  expect(isCurrent(pipelines, "acme", "/o/acme/pipelines-old")).toBe(false);
});

test("home is current only on its own page", () => {
  expect(isCurrent(home, "acme", "/o/acme")).toBe(true);
  expect(isCurrent(home, "acme", "/o/acme/pipelines")).toBe(false);
});

test("counts are what needs you, all environments, and live deployments", () => {
  const summary = {
    environments: { total: 8, free: 2 },
    pipelines: { total: 2, stopped: 0 },
    queuedSessions: 6,
    yours: { held: 3, queued: 1, turns: 1, handovers: 2 },
    deployments: { queued: 1, running: 2, waiting: 0, paused: 0, canceling: 0 },
    approvals: 2,
  };
  expect(MAIN.find(({ label }) => label === "Approvals")?.count?.({ ...summary, approvals: undefined })).toBe(0);
  const counts = MAIN.map((entry) => [entry.label, entry.count?.(summary)]);
  expect(Object.fromEntries(counts)).toMatchObject({ Home: 5, Environments: 8, Deployments: 3, Approvals: 2 });
});
