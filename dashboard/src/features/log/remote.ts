// A large log: a worker reads parts of it, those on the screen first, and the server searches it.
import { type LogRef, searchLog } from "@/api/log";
import { problemOf } from "@/api/problem";
import { isErrorLine, MAX_MATCHES, nextOf } from "./find";
import { findInPart, firstLineOf, type Index, nextParts, PART, type Part, partsOf, partsWith, textOf } from "./pages";
import type { FromWorker, ToWorker } from "./protocol";
import type { LogText } from "./text";
// oxlint-disable-next-line import/default -- the bundler makes the address of the worker its default export
import workerUrl from "./worker?worker&url";

/** 32 MiB. */
const MAX_PARTS = 128;
/** Ahead of the reader. A browser has six connections to a server, and one is the event stream. */
const READS_AT_A_TIME = 3;
const MATCHES_PER_PAGE = 1_000;
const SEARCH_TIMEOUT = 30_000;
const SEARCH_PAUSE = 1_000;

type Options = { onLines: () => void; onError: (error: unknown) => void };

export class RemoteLog implements LogText {
  readonly lines: number;
  private readonly worker: Worker;
  private readonly at: LogRef;
  private readonly url: string;
  private readonly index: Index;
  private readonly options: Options;
  private readonly parts = new Map<number, Part>();
  private readonly reading = new Set<number>();
  private window = { from: 0, to: 0 };

  constructor(at: LogRef, url: string, index: Index, options: Options) {
    this.at = at;
    this.url = url;
    this.index = index;
    this.options = options;
    this.lines = index.lines;
    this.worker = new Worker(trusted(workerUrl), { type: "module" });
    this.worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => this.receive(data));
    this.worker.addEventListener("error", (event) => options.onError(new Error(event.message)));
  }

  line(number: number): string | undefined {
    return textOf(this.index, number, (part) => this.parts.get(part));
  }

  want(first: number, count: number): void {
    this.window = { from: first, to: Math.max(first, first + count - 1) };
    this.readOn();
  }

  private receive(data: FromWorker): void {
    this.reading.delete(data.number);
    const { first, last } = partsWith(this.index, this.window.from, this.window.to);
    const isVisible = data.number >= first && data.number <= last;
    if (data.kind === "failed") {
      // What was read ahead is read again when it is on the screen.
      if (isVisible) this.options.onError(problemOf(data.status, data.body, null));
      return;
    }
    this.parts.set(data.number, data.part);
    this.evict();
    if (isVisible) this.options.onLines();
    this.readOn();
  }

  /** Reads what the window lacks at once, then what is around it, until all is there or the memory is full. */
  private readOn(): void {
    const isKnown = (number: number) => this.parts.has(number) || this.reading.has(number);
    const { first, last } = partsWith(this.index, this.window.from, this.window.to);
    for (const number of nextParts(this.index, this.window, isKnown, READS_AT_A_TIME)) {
      const isAhead = number < first || number > last;
      if (isAhead && (this.parts.size >= MAX_PARTS || this.reading.size >= READS_AT_A_TIME)) return;
      this.reading.add(number);
      const start = number * PART;
      const end = Math.min(this.index.bytes, start + PART) - 1;
      this.worker.postMessage({ number, url: this.url, start, end } satisfies ToWorker);
    }
  }

  /** Drops the part that is farthest from the window. */
  private evict(): void {
    if (this.parts.size <= MAX_PARTS) return;
    const { first } = partsWith(this.index, this.window.from, this.window.to);
    const distance = (number: number) => Math.abs(number - first);
    const farthest = [...this.parts.keys()].reduce((left, right) => (distance(right) > distance(left) ? right : left));
    this.parts.delete(farthest);
  }

  async find(text: string, signal: AbortSignal, onFound: (lines: readonly number[]) => void): Promise<void> {
    const found: number[] = [];
    onFound(found);
    if (text === "") return;
    if (this.parts.size === partsOf(this.index)) return this.findHere(text, signal, onFound);
    for (let after: number | null | undefined = 0; typeof after === "number" && found.length < MAX_MATCHES;) {
      const page = await searchLog(this.at, { q: text, after, limit: MATCHES_PER_PAGE }, signal);
      if (signal.aborted) return;
      for (const { line } of page.matches) if (typeof line === "number") found.push(line - 1);
      onFound([...found]);
      // The organization has searched too much for now.
      if (page.next === after) await new Promise((resolve) => setTimeout(resolve, SEARCH_PAUSE));
      after = page.next;
    }
  }

  /** Searches a log all of which is in this page, part by part, so that the page stays responsive. */
  private async findHere(
    text: string,
    signal: AbortSignal,
    onFound: (lines: readonly number[]) => void,
  ): Promise<void> {
    const found = new Set<number>();
    for (let number = 0; number < partsOf(this.index) && found.size < MAX_MATCHES; number += 1) {
      const part = this.parts.get(number);
      const start = firstLineOf(this.index, number);
      // A line that goes on in this part is looked at as a whole.
      if (number > 0 && this.line(start)?.toLowerCase().includes(text.toLowerCase())) found.add(start);
      if (part) for (const piece of findInPart(part, text)) found.add(start + piece);
      await new Promise((resolve) => setTimeout(resolve));
      if (signal.aborted) return;
    }
    onFound([...found].toSorted((left, right) => left - right));
  }

  async nextError(from: number): Promise<number | undefined> {
    let errors: readonly number[] = [];
    const keep = (lines: readonly number[]) => (errors = lines);
    await this.find("error", AbortSignal.timeout(SEARCH_TIMEOUT), keep);
    // A line that is not in this page is an error by the word alone.
    return nextOf(
      errors.filter((line) => isErrorLine(this.line(line) ?? "error")),
      from,
      1,
    );
  }

  close(): void {
    this.worker.terminate();
  }
}

type Policy = { createScriptURL: (url: string) => unknown };
type Factory = { createPolicy: (name: string, rules: { createScriptURL: (url: string) => string }) => Policy };

let policy: Policy | undefined;

/** The content security policy allows scripts only through a policy. This one allows files of this origin. */
function trusted(url: string): string {
  const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
  if (!factory) return url;
  policy ??= factory.createPolicy("greenroom-log", {
    createScriptURL: (address) => {
      if (new URL(address, location.origin).origin !== location.origin) throw new TypeError("not of this origin");
      return address;
    },
  });
  return policy.createScriptURL(url) as string;
}
