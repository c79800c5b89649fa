// Who may propose and cancel a fix, for the reason in the tooltip of a disabled button. The server checks it again. Pure.
import type { Fix, Me } from "@/api/types";
import { hasRole } from "@/lib/roles";
import { fix as texts, propose } from "@/texts/en/fix";

type Person = Pick<Me, "role" | "userId">;

/** Why the person can't propose a fix; `undefined` if they can. */
export function whyNotPropose({ role }: Pick<Me, "role">): string | undefined {
  return hasRole(role, "developer") ? undefined : propose.developersOnly;
}

const CANCELABLE = ["queued", "waiting", "reproducing", "verifying"];

/** After that, its pull request is closed at the forge. */
export const isCancelable = ({ status }: Pick<Fix, "status">): boolean => CANCELABLE.includes(status);

/** Why the person can't cancel a fix: developers cancel their own, maintainers all. */
export function whyNotCancel({ requestedBy }: Pick<Fix, "requestedBy">, { role, userId }: Person): string | undefined {
  const isOwn = requestedBy.id === userId && hasRole(role, "developer");
  return isOwn || hasRole(role, "maintainer") ? undefined : texts.onlyRequester(requestedBy.name);
}
