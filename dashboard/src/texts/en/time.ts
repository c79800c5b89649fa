// Durations and times in English. Times of day are those of the reader's time zone, in 24 hours.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Below this, durations show seconds. */
const EXACT_BELOW = 10 * MINUTE;

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const CLOCK_EXACT = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DATE = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });
const FULL = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });

/** `4:12` below ten minutes, then `38 min`, `1 h 52 min`, `3 d 4 h`. */
export function duration(milliseconds: number): string {
  const rest = Math.max(0, milliseconds);
  return rest < EXACT_BELOW ? exact(rest) : coarse(rest);
}

/** `0:31`, `12:04`, `1:02:03`: how long a step, a stage or a deployment took. */
export function exact(milliseconds: number): string {
  const total = Math.floor(Math.max(0, milliseconds) / SECOND);
  const seconds = String(total % 60).padStart(2, "0");
  const minutes = Math.floor(total / 60) % 60;
  const hours = Math.floor(total / 3600);
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${seconds}` : `${minutes}:${seconds}`;
}

/** How long something took that has ended: as `exact`, and `0.3 s` below a second. */
export function took(milliseconds: number): string {
  if (milliseconds >= SECOND) return exact(milliseconds);
  return `${Math.max(0.1, Math.floor(milliseconds / 100) / 10)} s`;
}

/** `26 min`, `3 h 10 min`, `2 d 4 h`, and `less than a minute`. */
export function coarse(milliseconds: number): string {
  if (milliseconds < MINUTE) return "less than a minute";
  const days = Math.floor(milliseconds / DAY);
  const hours = Math.floor((milliseconds % DAY) / HOUR);
  const minutes = Math.floor((milliseconds % HOUR) / MINUTE);
  if (days > 0) return hours > 0 ? `${days} d ${hours} h` : `${days} d`;
  if (hours > 0) return minutes > 0 ? `${hours} h ${minutes} min` : `${hours} h`;
  return `${minutes} min`;
}

/** `just now`, `3 min ago`, `2 h ago`, `yesterday`, then the date. */
export function ago(time: number, now: number): string {
  const past = now - time;
  if (past < MINUTE) return "just now";
  if (past < HOUR) return `${Math.floor(past / MINUTE)} min ago`;
  if (past < 12 * HOUR || isSameDay(time, now)) return `${Math.floor(past / HOUR)} h ago`;
  if (isSameDay(time, now - DAY)) return "yesterday";
  return DATE.format(time);
}

/** `16:20` today, else `Mon, 16 Nov 16:20`. */
export function clock(time: number, now: number): string {
  return isSameDay(time, now) ? CLOCK.format(time) : `${DATE.format(time)} ${CLOCK.format(time)}`;
}

export function clockExact(time: number): string {
  return CLOCK_EXACT.format(time);
}

/** The whole date with its time zone, for tooltips. */
export function full(time: number): string {
  return FULL.format(time);
}

function isSameDay(left: number, right: number): boolean {
  return new Date(left).toDateString() === new Date(right).toDateString();
}

/** `Mon, 16 Nov`. */
export function day(time: number): string {
  return DATE.format(time);
}
