// What the tabs of one browser send each other. One tab reads the stream; the others get everything from it.
import type { Event } from "@/api/types";
import type { Connection } from "./status";

export type TabMessage =
  | { kind: "event"; event: Event }
  | { kind: "reset"; sequence: number }
  /** Sent on each change and with each byte of the stream, so that a tab notices if the leader is gone. */
  | { kind: "connection"; connection: Connection; sequence: number | undefined }
  /** A new tab asks the leader for its state. */
  | { kind: "hello" };

const VERSION = 1;

export function lockName(user: string, org: string): string {
  return `greenroom-live-${VERSION}:${user}:${org}`;
}

export class TabChannel {
  private readonly channel: BroadcastChannel;

  constructor(name: string, onMessage: (message: TabMessage) => void) {
    this.channel = new BroadcastChannel(name);
    this.channel.onmessage = (event: MessageEvent<TabMessage>) => onMessage(event.data);
  }

  send(message: TabMessage): void {
    this.channel.postMessage(message);
  }

  close(): void {
    this.channel.close();
  }
}
