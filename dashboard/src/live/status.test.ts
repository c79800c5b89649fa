import { expect, test } from "vitest";
import { lampOf } from "./status";

test.each([
  [{ kind: "live" } as const, 99_000, "live"],
  [{ kind: "down", since: 1_000 } as const, 2_900, "live"],
  [{ kind: "down", since: 1_000 } as const, 3_000, "reconnecting"],
  [{ kind: "down", since: 1_000 } as const, 31_000, "offline"],
  [{ kind: "connecting", since: 1_000 } as const, 20_000, "connecting"],
  [{ kind: "connecting", since: 1_000 } as const, 31_000, "offline"],
  [{ kind: "refused", status: 403, since: 1_000 } as const, 1_001, "offline"],
])("%o at %i is %s", (connection, now, kind) => {
  expect(lampOf(connection, now).kind).toBe(kind);
});

test("an open stream of a server that is not ready is not live", () => {
  const kindAt = (now: number) => lampOf({ kind: "live" }, now, 1_000).kind;
  expect(kindAt(1_000)).toBe("reconnecting");
  expect(kindAt(31_000)).toBe("offline");
});

test("that actions still work is shown only while the server is ready", () => {
  const refused = { kind: "refused", status: 403, since: 1_000 } as const;
  expect(lampOf(refused, 2_000)).toMatchObject({ isReady: true });
  expect(lampOf(refused, 2_000, 1_500)).toMatchObject({ isReady: false });
});
