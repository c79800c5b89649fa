// The live connection of one tab: follows the leader, or is the leader.
import type { QueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import { applyEvents } from "./apply";
import { EventBuffer } from "./buffer";
import { lockName, TabChannel, type TabMessage } from "./channel";
import { Invalidator } from "./invalidate";
import { lead } from "./leader";
import type { Connection } from "./status";
import { SILENCE_TIMEOUT } from "./stream";

/** The leader repeats its state at most this often while nothing changes. */
const ANNOUNCE_INTERVAL = 5_000;
/** Who is signed in is not read again when the first stream opens this soon after the page has read it. */
const RECENT = 5_000;

export type Options = {
  org: string;
  user: string;
  /** The newest event before the first read; `undefined` if it is not known. Everything is read again then. */
  start: number | undefined;
  queries: QueryClient;
  onConnection: (connection: Connection) => void;
  /** Events were missed, and everything is read again. */
  onReset: () => void;
};

export class LiveConnection {
  private readonly stopped = new AbortController();
  private readonly invalidator: Invalidator;
  private readonly buffer: EventBuffer;
  private readonly channel: TabChannel;
  private readonly options: Options;
  private connection: Connection = { kind: "connecting", since: Date.now() };
  private isLeader = false;
  /** Whether this tab knows that its reads include everything up to `buffer.last`. */
  private isCurrent = false;
  private hasBeenLive = false;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private announcedAt = 0;

  constructor(options: Options) {
    this.options = options;
    this.invalidator = new Invalidator(options.queries);
    const cache = { org: options.org, user: options.user, queries: options.queries, stale: this.invalidator };
    this.buffer = new EventBuffer(
      (events) => applyEvents(cache, events),
      () => this.reset(),
    );
    if (options.start !== undefined) this.buffer.restart(options.start);
    const name = lockName(options.user, options.org);
    this.channel = new TabChannel(name, (message) => this.receive(message));
    this.channel.send({ kind: "hello" });
    void this.becomeLeader(name);
  }

  stop(): void {
    this.stopped.abort();
    this.channel.close();
    this.invalidator.stop();
    clearTimeout(this.silence);
  }

  /** Waits for the lock, which the browser gives to one tab at a time, and keeps it until this tab stops. */
  private async becomeLeader(name: string): Promise<void> {
    const { signal } = this.stopped;
    // Without https there are no locks; then each tab reads the stream itself.
    if (!navigator.locks) return this.lead();
    try {
      await navigator.locks.request(name, { signal }, () => this.lead());
    } catch {
      // The tab stopped while it waited.
    }
  }

  private async lead(): Promise<void> {
    this.isLeader = true;
    this.isCurrent = true;
    clearTimeout(this.silence);
    const { signal } = this.stopped;
    await lead(
      {
        org: this.options.org,
        lastSequence: () => this.buffer.last,
        onEvent: (event) => {
          this.channel.send({ kind: "event", event });
          this.buffer.push(event);
        },
        onReset: (sequence) => {
          this.channel.send({ kind: "reset", sequence });
          this.buffer.restart(sequence);
          this.reset();
        },
        onStart: (sequence) => {
          this.buffer.restart(sequence);
          this.readAgain();
        },
        onConnection: (connection) => {
          const hasChanged = this.setConnection(connection);
          if (hasChanged || Date.now() - this.announcedAt > ANNOUNCE_INTERVAL) this.announce();
        },
      },
      signal,
    );
    this.isLeader = false;
  }

  private receive(message: TabMessage): void {
    if (this.stopped.signal.aborted) return;
    if (message.kind === "hello") {
      if (this.isLeader) this.announce();
      return;
    }
    if (this.isLeader) return;
    if (message.kind === "event") this.buffer.push(message.event);
    if (message.kind === "reset") {
      this.buffer.restart(message.sequence);
      this.reset();
    }
    if (message.kind === "connection") this.follow(message.connection, message.sequence);
  }

  private follow(connection: Connection, sequence: number | undefined): void {
    if (sequence !== undefined && !this.isCurrent) {
      this.isCurrent = true;
      const { start } = this.options;
      // The leader may have shared events before this tab listened, and this tab may not have read what they changed.
      if (start === undefined || sequence > start) {
        this.buffer.restart(sequence);
        this.readAgain();
      }
    }
    this.setConnection(connection);
    clearTimeout(this.silence);
    const since = Date.now();
    this.silence = setTimeout(() => this.setConnection({ kind: "down", since }), SILENCE_TIMEOUT);
  }

  private announce(): void {
    this.announcedAt = Date.now();
    this.channel.send({ kind: "connection", connection: this.connection, sequence: this.buffer.last });
  }

  /** Returns whether the connection has changed. */
  private setConnection(connection: Connection): boolean {
    if (connection.kind === "live" && this.connection.kind === "live") return false;
    // The server closes the stream when the role of its user changes; only admins receive the audit event about it.
    if (connection.kind === "live" || connection.kind === "refused") this.readRole(connection.kind);
    this.connection = connection;
    this.options.onConnection(connection);
    return true;
  }

  private readRole(kind: "live" | "refused"): void {
    const me = keys.me(this.options.org);
    const readAt = this.options.queries.getQueryState(me)?.dataUpdatedAt ?? 0;
    const isFirst = kind === "live" && !this.hasBeenLive && Date.now() - readAt < RECENT;
    this.hasBeenLive ||= kind === "live";
    if (!isFirst) this.invalidator.invalidate(me);
  }

  private reset(): void {
    this.readAgain();
    this.options.onReset();
  }

  /** Reads everything on the screen again. The old picture stays until the new one is there. */
  private readAgain(): void {
    void this.options.queries.invalidateQueries({
      queryKey: keys.organization(this.options.org),
      refetchType: "active",
    });
  }
}
