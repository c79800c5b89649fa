// What the page and the worker of a log send each other.
import type { Part } from "./pages";

export type ToWorker = { number: number; url: string; start: number; end: number };

export type FromWorker =
  | { kind: "part"; number: number; part: Part }
  | { kind: "failed"; number: number; status: number; body: unknown };
