// Events wait here and are applied together: once a frame while the tab is visible, once a second while it is
// hidden. An event that was applied already is dropped.
import type { Event } from "@/api/types";

const HIDDEN_DELAY = 1_000;
/** More events than this at once are not applied one by one: everything is read again. */
const MAX_EVENTS = 500;

type Schedule = (run: () => void) => void;

const nextFrame: Schedule = (run) => {
  if (document.hidden) setTimeout(run, HIDDEN_DELAY);
  else requestAnimationFrame(run);
};

export class EventBuffer {
  private events: Event[] = [];
  private isScheduled = false;
  private sequence: number | undefined;
  private readonly apply: (events: Event[]) => void;
  private readonly onOverflow: () => void;
  private readonly schedule: Schedule;

  constructor(apply: (events: Event[]) => void, onOverflow: () => void, schedule: Schedule = nextFrame) {
    this.apply = apply;
    this.onOverflow = onOverflow;
    this.schedule = schedule;
  }

  /** The number of the last event that was received. */
  get last(): number | undefined {
    return this.sequence;
  }

  /** Continues after this number. Events that wait are dropped: the reads that follow include them. */
  restart(sequence: number): void {
    this.sequence = sequence;
    this.events = [];
  }

  push(event: Event): void {
    if (this.sequence !== undefined && event.sequence <= this.sequence) return;
    this.sequence = event.sequence;
    this.events.push(event);
    if (this.isScheduled) return;
    this.isScheduled = true;
    this.schedule(() => this.flush());
  }

  private flush(): void {
    this.isScheduled = false;
    const events = this.events;
    this.events = [];
    if (events.length > MAX_EVENTS) this.onOverflow();
    else if (events.length > 0) this.apply(events);
  }
}
