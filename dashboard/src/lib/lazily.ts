// Parts of the dashboard that are loaded when they are needed, and all of them as soon as the browser is idle: a page
// that is open keeps working while the server restarts, and after it was replaced by a version with other files.
import { type ComponentType, lazy, type LazyExoticComponent } from "react";

const FIRST_DELAY = 500;
const MAX_DELAY = 4_000;
/** The server responds, so a part that fails this often is not there any more. */
const MAX_FAILURES = 2;

type Load<Part> = () => Promise<Part>;
type Environment = { isReachable: () => Promise<boolean>; wait: (milliseconds: number) => Promise<void> };

const browser: Environment = {
  isReachable: () =>
    fetch("/", { method: "HEAD", cache: "no-store" }).then(
      ({ ok }) => ok,
      () => false,
    ),
  wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

const notLoaded = new Set<Load<unknown>>();
let isIdle = false;

/** Loads a part once. While the server does not respond, it is tried again. */
export function once<Part>(load: Load<Part>, { isReachable, wait }: Environment = browser): Load<Part> {
  let loading: Promise<Part> | undefined;
  const attempts = async (): Promise<Part> => {
    for (let delay = FIRST_DELAY, failures = 0; ; delay = Math.min(MAX_DELAY, delay * 2)) {
      try {
        return await load();
      } catch (error) {
        if (await isReachable()) failures += 1;
        if (failures >= MAX_FAILURES) throw error;
        await wait(delay);
      }
    }
  };
  const part = () => {
    notLoaded.delete(part);
    loading ??= attempts();
    return loading;
  };
  notLoaded.add(part);
  if (isIdle) void loadAll();
  return part;
}

/** A component of a module that is loaded by `once`. */
// oxlint-disable-next-line typescript/no-explicit-any -- as in the type of `lazy`: the properties are those of the component
export function lazily<Name extends string, Module extends Record<Name, ComponentType<any>>>(
  load: Load<Module>,
  name: Name,
): LazyExoticComponent<Module[Name]> {
  const part = once(load);
  return lazy(async () => ({ default: (await part())[name] }));
}

/** From now on, all parts are loaded, one after the other, each when the page has nothing else to do. */
export async function loadAll(idle: () => Promise<void> = untilIdle): Promise<void> {
  isIdle = true;
  for (const part of notLoaded) {
    await idle();
    await part().catch(() => undefined);
  }
}

function untilIdle(): Promise<void> {
  // Safari has no such callback.
  if (!("requestIdleCallback" in globalThis)) return browser.wait(FIRST_DELAY);
  return new Promise((resolve) => requestIdleCallback(() => resolve()));
}

/** Whether a part could not be loaded, because the server has a newer version. */
export function isMissingPart(error: unknown): boolean {
  return error instanceof TypeError && error.message.includes("imported module");
}
