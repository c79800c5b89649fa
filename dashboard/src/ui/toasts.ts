// Short messages about what has happened. This file is small and loaded first; the region that shows them is
// loaded when the browser is idle.

export type Toast = {
  title: string;
  text?: string;
  tone?: "good" | "bad";
  action?: { label: string; onSelect: () => void };
};

type Listener = (toast: Toast) => void;

const MAX_WAITING = 5;
const waiting: Toast[] = [];
let listener: Listener | undefined;

export function showToast(toast: Toast): void {
  if (listener) listener(toast);
  else if (waiting.length < MAX_WAITING) waiting.push(toast);
}

/** Called by the region. Messages from before it was loaded are delivered at once. */
export function listenForToasts(next: Listener): () => void {
  listener = next;
  for (const toast of waiting.splice(0)) next(toast);
  return () => {
    if (listener === next) listener = undefined;
  };
}
