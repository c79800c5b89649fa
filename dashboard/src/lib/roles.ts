// The roles of members, lowest first. Each includes what those before it may do.

export const ROLES = ["viewer", "developer", "maintainer", "admin", "owner"] as const;

type RoleName = (typeof ROLES)[number];

export function hasRole(role: RoleName, needed: RoleName): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** The roles that somebody may give: only owners make owners. */
export function grantableBy(role: RoleName): RoleName[] {
  return ROLES.filter((given) => given !== "owner" || role === "owner");
}
