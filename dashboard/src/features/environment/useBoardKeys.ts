// Keys of the board: `j` and `k` move between cards, the others act on the card that has the focus.
import { useKeys } from "@/lib/keys";
import { actionsOf, canForce, canNotify, KEYS, type Verb } from "./actions";
import { type Shown, type Viewer, viewOf } from "./view";

type Find = (env: string) => { environment: Shown } | undefined;

export function useBoardKeys(act: (verb: Verb, env: string) => void, find: Find, viewer: Viewer): void {
  const press = (verb: Verb) => {
    const env = focusedEnvironment();
    const environment = env === undefined ? undefined : find(env)?.environment;
    if (env === undefined || !environment) return;
    const view = viewOf(environment, viewer);
    const isOffered =
      verb === "force"
        ? canForce(environment, view, viewer)
        : verb === "notify"
          ? canNotify(view)
          : actionsOf(environment, view, viewer).some((action) => action.verb === verb && !action.why);
    if (isOffered) act(verb, env);
  };
  const bindings = Object.entries(KEYS).map(([key, verb]) => [key, () => press(verb)] as const);
  useKeys({ j: () => moveFocus(1), k: () => moveFocus(-1), ...Object.fromEntries(bindings) });
}

function focusedEnvironment(): string | undefined {
  return document.activeElement?.closest<HTMLElement>("[data-env]")?.dataset.env;
}

function moveFocus(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("[data-env-link]")];
  const env = focusedEnvironment();
  const index = links.findIndex((link) => link.closest<HTMLElement>("[data-env]")?.dataset.env === env);
  const next = index < 0 ? (step === 1 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, index + step));
  links[next]?.focus();
}
