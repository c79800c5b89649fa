// One clock for all texts that change with time: all of them tick in the same frame. A hidden tab does not tick.
import { useSyncExternalStore } from "react";
import { serverNow } from "./clock";

export type Cadence = "second" | "half-minute";

const INTERVAL: Record<Cadence, number> = { second: 1_000, "half-minute": 30_000 };

class Ticker {
  private readonly listeners = new Set<() => void>();
  private timer: ReturnType<typeof setInterval> | undefined;
  private now = serverNow();
  private readonly interval: number;

  constructor(interval: number) {
    this.interval = interval;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    if (this.listeners.size === 1) this.start();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.stop();
    };
  };

  readonly read = (): number => this.now;

  private start(): void {
    this.now = serverNow();
    this.timer = setInterval(this.tick, this.interval);
    document.addEventListener("visibilitychange", this.tick);
  }

  private stop(): void {
    clearInterval(this.timer);
    document.removeEventListener("visibilitychange", this.tick);
  }

  private readonly tick = (): void => {
    if (document.hidden) return;
    this.now = serverNow();
    for (const listener of this.listeners) listener();
  };
}

const tickers: Record<Cadence, Ticker> = {
  second: new Ticker(INTERVAL.second),
  "half-minute": new Ticker(INTERVAL["half-minute"]),
};

/** The server's time, updated at the given cadence. */
export function useNow(cadence: Cadence): number {
  const ticker = tickers[cadence];
  return useSyncExternalStore(ticker.subscribe, ticker.read);
}
