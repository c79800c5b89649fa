// Who has a grant: a group or a user. Pure.
import type { Grantee } from "@/api/grant";
import type { Grant } from "@/api/types";

export type Named = Grantee & { name: string };

export function granteeOf({ group, user }: Pick<Grant, "group" | "user">): Named {
  if (group) return { kind: "group", id: group.id, name: group.name };
  return { kind: "user", id: user?.id ?? "", name: user?.name ?? "" };
}

/** The value of an option in a list of both kinds. */
export const valueOf = ({ kind, id }: Grantee): string => `${kind}/${id}`;

export function parseValue(value: string): Grantee | undefined {
  const [kind, id] = value.split("/");
  return (kind === "group" || kind === "user") && id ? { kind, id } : undefined;
}
