// The form of a service account: what a change sends. Pure.
import type { AccountChange } from "@/api/serviceAccount";
import type { Role, ServiceAccount } from "@/api/types";

/** What a change of the account sends: only what differs, and `null` for a description that was removed. */
export function changeOf(
  before: Pick<ServiceAccount, "name" | "role" | "description">,
  after: { name: string; role: Role; description: string },
): AccountChange {
  const [name, description] = [after.name.trim(), after.description.trim() || null];
  return {
    ...(name === before.name ? {} : { name }),
    ...(after.role === before.role ? {} : { role: after.role }),
    ...(description === (before.description ?? null) ? {} : { description }),
  };
}
