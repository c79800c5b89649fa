// Environments that this tab waits for. They are forgotten when the tab is closed.
import { useSyncExternalStore } from "react";
import type { EnvironmentRef } from "@/api/environment";

const listeners = new Set<() => void>();
let watched: readonly EnvironmentRef[] = [];

const isSame = (left: EnvironmentRef, right: EnvironmentRef) =>
  left.org === right.org && left.pipeline === right.pipeline && left.env === right.env;

/** Adds the environment, or removes it if it is there already. */
export function toggled(list: readonly EnvironmentRef[], ref: EnvironmentRef): readonly EnvironmentRef[] {
  return list.some((other) => isSame(other, ref)) ? list.filter((other) => !isSame(other, ref)) : [...list, ref];
}

export function includes(list: readonly EnvironmentRef[], ref: EnvironmentRef): boolean {
  return list.some((other) => isSame(other, ref));
}

export function toggleWatch({ org, pipeline, env }: EnvironmentRef): boolean {
  watched = toggled(watched, { org, pipeline, env });
  for (const listener of listeners) listener();
  return includes(watched, { org, pipeline, env });
}

export function useWatched(): readonly EnvironmentRef[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => watched,
  );
}

export function useIsWatched(ref: EnvironmentRef): boolean {
  return includes(useWatched(), ref);
}
