// Dynamic imports of code-split chunks. A chunk is fetched when a component of it is rendered first, and all of them are
// prefetched when the browser is idle: an open page then works while the server restarts, and after an upgrade to a
// version that no longer serves the chunks of this one.
import { type ComponentType, lazy, type LazyExoticComponent } from "react";

const FIRST_DELAY = 500;
const MAX_DELAY = 4_000;
/** An import that fails this often although the server responds: the server has no such file any more. */
const MAX_FAILURES = 2;

type Import<Module> = () => Promise<Module>;
type Environment = { isReachable: () => Promise<boolean>; wait: (milliseconds: number) => Promise<void> };

const browser: Environment = {
  isReachable: () =>
    fetch("/", { method: "HEAD", cache: "no-store" }).then(
      ({ ok }) => ok,
      () => false,
    ),
  wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

const notImported = new Set<Import<unknown>>();
let isIdle = false;

/** Memoizes a dynamic import, and retries it with a growing delay while the server does not respond. */
export function once<Module>(load: Import<Module>, { isReachable, wait }: Environment = browser): Import<Module> {
  let loading: Promise<Module> | undefined;
  const attempts = async (): Promise<Module> => {
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
  const chunk = () => {
    notImported.delete(chunk);
    loading ??= attempts();
    return loading;
  };
  notImported.add(chunk);
  if (isIdle) void loadAll();
  return chunk;
}

/** `React.lazy` for a named export, imported by `once`. */
// oxlint-disable-next-line typescript/no-explicit-any -- as in the type of `lazy`: the properties are those of the component
export function lazily<Name extends string, Module extends Record<Name, ComponentType<any>>>(
  load: Import<Module>,
  name: Name,
): LazyExoticComponent<Module[Name]> {
  const chunk = once(load);
  return lazy(async () => ({ default: (await chunk())[name] }));
}

/** Prefetches all chunks one by one, each in an idle callback; also those that are registered later. */
export async function loadAll(idle: () => Promise<void> = untilIdle): Promise<void> {
  isIdle = true;
  for (const chunk of notImported) {
    await idle();
    await chunk().catch(() => undefined);
  }
}

function untilIdle(): Promise<void> {
  // Safari has no `requestIdleCallback`.
  if (!("requestIdleCallback" in globalThis)) return browser.wait(FIRST_DELAY);
  return new Promise((resolve) => requestIdleCallback(() => resolve()));
}

/** Whether a dynamic import failed, which after the retries means that the server was upgraded. */
export function isMissingChunk(error: unknown): boolean {
  return error instanceof TypeError && error.message.includes("imported module");
}
