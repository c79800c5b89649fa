// Reads that an event makes stale are repeated, but not with each event: at once the first time, then at most
// once per interval, however many events there are. Only reads that are on the screen are repeated.
import type { QueryClient, QueryKey } from "@tanstack/react-query";

const INTERVAL = 2_000;

export class Invalidator {
  /** The times of the last refetches by query key, in insertion order. Entries older than the interval are removed. */
  private readonly lastRun = new Map<string, number>();
  private readonly waiting = new Map<string, ReturnType<typeof setTimeout>>();
  private readonly queries: QueryClient;

  constructor(queries: QueryClient) {
    this.queries = queries;
  }

  invalidate(key: QueryKey): void {
    const name = JSON.stringify(key);
    if (this.waiting.has(name)) return;
    const delay = Math.max(0, (this.lastRun.get(name) ?? 0) + INTERVAL - Date.now());
    if (delay === 0) this.run(name, key);
    else
      this.waiting.set(
        name,
        setTimeout(() => this.run(name, key), delay),
      );
  }

  stop(): void {
    for (const timer of this.waiting.values()) clearTimeout(timer);
    this.waiting.clear();
  }

  private run(name: string, key: QueryKey): void {
    this.waiting.delete(name);
    this.removeOld();
    this.lastRun.delete(name);
    this.lastRun.set(name, Date.now());
    void this.queries.invalidateQueries({ queryKey: key, refetchType: "active" });
  }

  private removeOld(): void {
    for (const [name, time] of this.lastRun) {
      if (time + INTERVAL > Date.now()) return;
      this.lastRun.delete(name);
    }
  }
}
