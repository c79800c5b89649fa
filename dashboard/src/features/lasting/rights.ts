// Who may hold an environment, for the reason in the tooltip of a disabled button. The server checks it again. Pure.
import type { LastingEnvironment, Me } from "@/api/types";
import { hasRole } from "@/lib/roles";
import { hold as texts } from "@/texts/en/lasting";

export type HoldRights = {
  isOwn: boolean;
  /** Why the person can't hold the environment, or change its hold; `undefined` if they can. */
  why: string | undefined;
};

export function rightsOf(hold: LastingEnvironment["hold"], { role, userId }: Pick<Me, "role" | "userId">): HoldRights {
  const isOwn = hold?.by.id === userId;
  if (!hasRole(role, "maintainer")) return { isOwn, why: texts.maintainersOnly };
  if (hold && !isOwn && !hasRole(role, "admin")) return { isOwn, why: texts.heldByOther(hold.by.name) };
  return { isOwn, why: undefined };
}
