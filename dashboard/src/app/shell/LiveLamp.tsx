// The status of the event stream: a lamp in the top bar, and after 30 seconds offline a bar across the page.
import { type LampState, useLamp } from "@/live";
import { lamp } from "@/texts/en/shell";
import { clockExact } from "@/texts/en/time";
import { Bar, Lamp, type LampColor } from "@/ui/Lamp";

const COLORS: Record<LampState["kind"], LampColor> = {
  live: "green",
  connecting: "amber",
  reconnecting: "slate",
  offline: "red",
};

function textOf(state: LampState): string {
  if (state.kind === "live") return lamp.live;
  if (state.kind === "connecting") return lamp.connecting;
  const since = clockExact(state.since);
  if (state.kind === "reconnecting") return lamp.reconnecting(since);
  return state.isReady ? lamp.offline(since) : lamp.unreachable(since);
}

export function LiveLamp() {
  const state = useLamp();
  // While offline, the bar shows the status instead.
  if (state.kind === "offline") return null;
  return <Lamp color={COLORS[state.kind]} text={textOf(state)} />;
}

export function LiveBar() {
  const state = useLamp();
  return state.kind === "offline" ? <Bar tone="amber">{textOf(state)}</Bar> : null;
}
