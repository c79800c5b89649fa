// The state of an open log for React. It renders at most once a frame, however fast the log grows.
import { useEffect, useRef, useState } from "react";
import { type LogRef, readLogIndex } from "@/api/log";
import { LogBuffer } from "./buffer";
import { downloadUrl, follow, readStored } from "./load";
import { RemoteLog } from "./remote";
import { type LogText, WholeLog } from "./text";

/** A log up to this size is read as a whole; of a larger one, only the parts that are looked at. */
const MAX_WHOLE = 8 * 1_048_576;

/** `version` changes with the contents: the text is the same object while it grows. */
export type LogState = { text: LogText; version: number; isLoading: boolean; error: unknown };

const empty = (): LogText => new WholeLog(new LogBuffer());

/** The log of a step. While `isLive`, it is followed. */
export function useLog({ org, deployment, step }: LogRef, isLive: boolean): LogState & { retry: () => void } {
  const [attempt, setAttempt] = useState(0);
  const [state, setState] = useState<LogState>(() => ({
    text: empty(),
    version: 0,
    isLoading: true,
    error: undefined,
  }));
  const frame = useRef(0);
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const ref = { org, deployment, step };
    let text: LogText = empty();
    let remote: RemoteLog | undefined;
    const show = (more: Partial<LogState>) => {
      if (!signal.aborted) setState((old) => ({ ...old, text, version: old.version + 1, ...more }));
    };
    const onChange = () => {
      if (frame.current !== 0) return;
      frame.current = requestAnimationFrame(() => {
        frame.current = 0;
        show({ error: undefined });
      });
    };
    const open = async () => {
      // A log that grows is followed as a whole.
      const index = isLive ? undefined : await readLogIndex(ref, signal);
      if (index && index.bytes > MAX_WHOLE && typeof index.lines === "number") {
        const onError = (error: unknown) => show({ error });
        remote = new RemoteLog(ref, downloadUrl(ref), { ...index, lines: index.lines }, { onLines: onChange, onError });
        text = remote;
        return;
      }
      const buffer = new LogBuffer();
      text = new WholeLog(buffer);
      await readStored(ref, buffer, onChange, signal);
      if (!isLive) return;
      show({ isLoading: false });
      await follow(ref, buffer, onChange, signal);
    };
    show({ isLoading: true, error: undefined });
    open()
      .then(() => show({ isLoading: false }))
      .catch((error: unknown) => show({ isLoading: false, error }));
    return () => {
      stop.abort();
      remote?.close();
      cancelAnimationFrame(frame.current);
      frame.current = 0;
    };
  }, [org, deployment, step, isLive, attempt]);
  return { ...state, retry: () => setAttempt((old) => old + 1) };
}
