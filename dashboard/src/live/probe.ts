// Whether the server is ready. A stream that is open proves little: it stays open without a byte for as long as 15 seconds, and
// while the server can't reach its database.

export const PROBE_INTERVAL = 3_000;
/** Together with the interval, it is less than the five seconds for which a stale screen may be shown as live. */
export const PROBE_TIMEOUT = 1_500;

type Environment = {
  isReady: (signal: AbortSignal) => Promise<boolean>;
  isHidden: () => boolean;
  wait: (milliseconds: number, signal: AbortSignal) => Promise<void>;
};

const browser: Environment = {
  isReady: (signal) => fetch("/readyz", { cache: "no-store", signal }).then(({ ok }) => ok),
  isHidden: () => document.hidden,
  wait: (milliseconds, signal) =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, milliseconds);
      signal.addEventListener("abort", end);
    }),
};

/**
 * Calls `onReady` with whether the server is ready whenever that changes, until `signal` is aborted.
 * A hidden tab sends no request.
 */
export async function watchServer(
  onReady: (isReady: boolean) => void,
  signal: AbortSignal,
  { isReady, isHidden, wait }: Environment = browser,
): Promise<void> {
  let last = true;
  while (!signal.aborted) {
    await wait(PROBE_INTERVAL, signal);
    if (signal.aborted || isHidden()) continue;
    const timeout = AbortSignal.any([signal, AbortSignal.timeout(PROBE_TIMEOUT)]);
    const next = await isReady(timeout).catch(() => false);
    if (signal.aborted || next === last) continue;
    last = next;
    onReady(next);
  }
}
