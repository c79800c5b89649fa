// The permissions of each role on secrets, for the reason in the tooltip of a disabled button. The server checks them again.
import type { Role, Secret } from "@/api/types";
import { hasRole } from "@/lib/roles";
import { secret as texts } from "@/texts/en/secret";

/** Secrets of the whole organization are changed by admins, others by maintainers. */
export function mayEdit(role: Role, scope: Secret["scope"]): boolean {
  return hasRole(role, scope === "organization" ? "admin" : "maintainer");
}

export function mayReadLog(role: Role): boolean {
  return hasRole(role, "maintainer");
}

/** Why the person may not change the secret; `undefined` if they may. */
export function whyNotEdit(role: Role | undefined, scope: Secret["scope"]): string | undefined {
  if (role !== undefined && mayEdit(role, scope)) return undefined;
  return scope === "organization" ? texts.mayNotEdit.organization : texts.mayNotEdit.other;
}
