// What a card shows: the state of an environment as one person sees it. Pure.
import type { Environment, ListedEnvironment, Role } from "@/api/types";
import type { Door } from "@/ui/DoorCard";
import type { EnvironmentState } from "@/ui/state";

/** A place of this person in a queue. */
export type Place = { sessionId: string; position: number | undefined };

/** The person who looks, with the places in queues by the id of the environment on the board. */
export type Viewer = { userId: string; role: Role; places: ReadonlyMap<string, Place> };

/** An environment on a board. On the board of all pipelines it has its pipeline's slug. */
export type Shown = Environment & Partial<Pick<ListedEnvironment, "pipeline" | "template">>;

/** What tells the environments of a board apart: the name, and the pipeline's slug if there are several. */
export function idOf({ pipeline, envName }: Pick<Shown, "pipeline" | "envName">): string {
  return pipeline === undefined ? envName : `${pipeline}/${envName}`;
}

export type View = { state: EnvironmentState; door: Door; place: Place | undefined };

export function viewOf(environment: Shown, viewer: Viewer): View {
  const place = viewer.places.get(idOf(environment));
  const state = stateOf(environment, viewer, place);
  return { state, door: DOORS[state], place };
}

const DOORS: Record<EnvironmentState, Door> = {
  free: "free",
  yours: "yours",
  your_turn: "yours",
  held: "held",
  asked_for: "held",
  in_line: "held",
  cleaning_up: "held",
};

function stateOf({ lock, workSlot }: Environment, viewer: Viewer, place: Place | undefined): EnvironmentState {
  if (lock.status === "locked" && lock.holder?.id === viewer.userId) return lock.confirmBy ? "your_turn" : "yours";
  if (place) return "in_line";
  if (lock.status === "locked") return lock.handover ? "asked_for" : "held";
  return workSlot?.purpose === "teardown" ? "cleaning_up" : "free";
}

/** Counts for the head of the board. */
export type Tally = { all: number; free: number; yours: number; held: number; inLine: number };

export function tallyOf(environments: readonly Environment[], viewer: Viewer): Tally {
  const tally: Tally = { all: environments.length, free: 0, yours: 0, held: 0, inLine: 0 };
  for (const environment of environments) {
    tally[groupOf(environment, viewer)] += 1;
    tally.inLine += environment.lock.queueLength;
  }
  return tally;
}

export type Group = "free" | "yours" | "held";

export function groupOf(environment: Environment, viewer: Viewer): Group {
  if (environment.lock.status !== "locked") return "free";
  return environment.lock.holder?.id === viewer.userId ? "yours" : "held";
}

/** Whether name, holder, context or a label contains every word of the filter. */
export function matches({ envName, labels, lock }: Environment, filter: string): boolean {
  const text = [envName, ...labels, lock.holder?.name ?? "", lock.context ?? ""].join(" ").toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

const RANKS: Partial<Record<EnvironmentState, number>> = { your_turn: 0, yours: 1, in_line: 2 };
const NAMES = new Intl.Collator("en", { numeric: true });

/** Your turn, yours, in line, then by pipeline and name, templates last: `pr-9` before `pr-10`. */
export function order(environments: readonly Shown[], viewer: Viewer): Shown[] {
  const rank = (environment: Shown) => RANKS[viewOf(environment, viewer).state] ?? (environment.template ? 4 : 3);
  return environments.toSorted((left, right) => rank(left) - rank(right) || NAMES.compare(idOf(left), idOf(right)));
}

/** Keeps the order that is on the screen. Environments that are new come last, those that are gone are left out. */
export function keepOrder(environments: readonly Shown[], ids: readonly string[]): Shown[] {
  const position = new Map(ids.map((id, index) => [id, index]));
  const of = (environment: Shown) => position.get(idOf(environment)) ?? ids.length;
  return environments.toSorted((left, right) => of(left) - of(right));
}

/** The environment that has been free for the longest time and that nobody waits for. */
export function longestFree(environments: readonly Environment[]): Environment | undefined {
  const free = environments.filter(
    ({ lock, workSlot }) => lock.status === "free" && lock.queueLength === 0 && !workSlot,
  );
  return free.toSorted((left, right) => (left.freeSince ?? "").localeCompare(right.freeSince ?? ""))[0];
}
