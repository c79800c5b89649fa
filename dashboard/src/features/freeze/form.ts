// The form of a freeze: what is wrong in it, and its requests. Pure.
import type { Freeze, FreezeChange, NewFreeze } from "@/api/types";
import { timeOf } from "@/lib/countdown";

export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

export type Window = { fromDay: string; fromTime: string; toDay: string; toTime: string };

export type Form = {
  name: string;
  reason: string;
  kind: "once" | "weekly";
  /** In the reader's time zone, as `datetime-local` controls write it: `2026-12-21T17:00`. */
  from: string;
  to: string;
  windows: readonly Window[];
  zone: string;
  pipelines: readonly string[];
  /** Names, separated by commas or spaces. */
  environments: string;
};

export const WEEKEND: Window = { fromDay: "fri", fromTime: "16:00", toDay: "mon", toTime: "08:00" };

export function emptyForm(zone: string): Form {
  return {
    name: "",
    reason: "",
    kind: "once",
    from: "",
    to: "",
    windows: [WEEKEND],
    zone,
    pipelines: [],
    environments: "",
  };
}

export function formOf(freeze: Freeze, zone: string): Form {
  return {
    name: freeze.name,
    reason: freeze.reason,
    kind: freeze.weekly.length > 0 ? "weekly" : "once",
    from: localOf(freeze.from),
    to: localOf(freeze.to),
    windows: freeze.weekly.length > 0 ? freeze.weekly.map(windowOf) : [WEEKEND],
    zone: freeze.zone ?? zone,
    pipelines: freeze.pipelines,
    environments: freeze.environments.join(", "),
  };
}

export type Mistake = "name" | "reason" | "from" | "to" | "windows";

export function mistakesOf({ name, reason, kind, from, to, windows }: Form): Mistake[] {
  const mistakes: Mistake[] = [];
  if (name.trim() === "") mistakes.push("name");
  if (reason.trim() === "") mistakes.push("reason");
  if (kind === "once" && from === "") mistakes.push("from");
  if (kind === "once" && (to === "" || to <= from)) mistakes.push("to");
  const isWhole = ({ fromTime, toTime }: Window) => fromTime !== "" && toTime !== "";
  if (kind === "weekly" && (windows.length === 0 || !windows.every(isWhole))) mistakes.push("windows");
  return mistakes;
}

export function requestOf(form: Form): NewFreeze {
  const { name, reason, pipelines } = form;
  const fields = { name: name.trim(), reason: reason.trim(), pipelines: [...pipelines] };
  const environments = namesOf(form.environments);
  if (form.kind === "weekly") return { ...fields, environments, weekly: form.windows.map(textOf), zone: form.zone };
  return { ...fields, environments, from: isoOf(form.from), to: isoOf(form.to) };
}

/** Only what has changed is sent. A time that was not touched keeps its seconds. */
export function changeOf(freeze: Freeze, form: Form): FreezeChange {
  const old = formOf(freeze, form.zone);
  const next = requestOf(form);
  const before = requestOf(old);
  const change: FreezeChange = {};
  if (next.name !== before.name) change.name = next.name;
  if (next.reason !== before.reason) change.reason = next.reason;
  if (differ(next.pipelines, before.pipelines)) change.pipelines = next.pipelines;
  if (differ(next.environments, before.environments)) change.environments = next.environments;
  if (form.kind === "weekly") {
    if (differ(next.weekly, before.weekly)) change.weekly = next.weekly;
    if (next.zone !== freeze.zone) change.zone = next.zone;
    if (old.kind === "once") Object.assign(change, { from: null, to: null });
  } else {
    if (form.from !== old.from) change.from = next.from;
    if (form.to !== old.to) change.to = next.to;
    if (old.kind === "weekly") Object.assign(change, { weekly: [], zone: null });
  }
  return change;
}

function differ(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) !== JSON.stringify(right);
}

/** Each name once. */
function namesOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

function windowOf({ from, to }: { from: string; to: string }): Window {
  const [fromDay = "", fromTime = ""] = from.split(" ");
  const [toDay = "", toTime = ""] = to.split(" ");
  return { fromDay, fromTime, toDay, toTime };
}

function textOf({ fromDay, fromTime, toDay, toTime }: Window): { from: string; to: string } {
  return { from: `${fromDay} ${fromTime}`, to: `${toDay} ${toTime}` };
}

const two = (number: number) => String(number).padStart(2, "0");

/** A time of the API as a `datetime-local` control shows it. */
export function localOf(value: string | null | undefined): string {
  const time = timeOf(value);
  if (time === undefined) return "";
  const date = new Date(time);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

function isoOf(local: string): string {
  const time = Date.parse(local);
  return Number.isNaN(time) ? local : new Date(time).toISOString();
}
