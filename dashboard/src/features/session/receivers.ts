// Who can be given a session, and when a session ends. Pure.
import type { Member, Session } from "@/api/types";
import { timeOf } from "@/lib/countdown";
import { hasRole } from "@/lib/roles";

/** Everybody else who can hold an environment, by name. */
export function receiversOf(members: readonly Member[], self: string): Member[] {
  return members
    .filter(({ userId, role }) => userId !== self && hasRole(role, "developer"))
    .toSorted((left, right) => left.name.localeCompare(right.name, "en"));
}

type Lease = Pick<Session, "leaseRemainingMs" | "expiresAt">;

/** When the lease ends. What the server says is left is exact; its clock is known to the second only. */
export function leaseEnd({ leaseRemainingMs, expiresAt }: Lease, receivedAt: number): number | undefined {
  return typeof leaseRemainingMs === "number" ? receivedAt + leaseRemainingMs : timeOf(expiresAt);
}
