// Find in a log: the matches, and which one is current. The list is made again when the log has grown.
import { useEffect, useState } from "react";
import { showProblem } from "@/features/problem";
import { useStableCallback } from "@/lib/useStableCallback";
import { nextOf } from "./find";
import type { LogText } from "./text";

const TYPING_DELAY = 200;

export type Find = {
  text: string;
  setText: (text: string) => void;
  matches: readonly number[];
  /** The line of the current match, from 0. */
  current: number | undefined;
  go: (step: 1 | -1) => void;
  goToError: () => void;
};

export function useFind(log: LogText, lines: number, show: (line: number) => void): Find {
  const [text, setText] = useState("");
  const [matches, setMatches] = useState<readonly number[]>([]);
  const [current, setCurrent] = useState<number | undefined>();
  const jump = (line: number | undefined) => {
    setCurrent(line);
    if (line !== undefined) show(line);
  };
  // The first match is shown as soon as it is found. A log that has grown does not move the reader.
  const arrive = useStableCallback((found: readonly number[]) => {
    setMatches(found);
    if (current === undefined && found[0] !== undefined) jump(found[0]);
  });
  useEffect(() => {
    const stop = new AbortController();
    const onFound = (found: readonly number[]) => {
      if (!stop.signal.aborted) arrive(found);
    };
    const timer = setTimeout(() => {
      log.find(text, stop.signal, onFound).catch((error: unknown) => {
        if (!stop.signal.aborted) showProblem(error);
      });
    }, TYPING_DELAY);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [log, lines, text, arrive]);
  return {
    text,
    setText: (next) => {
      setText(next);
      setCurrent(undefined);
    },
    matches,
    current,
    go: (step) => jump(nextOf(matches, current ?? (step === 1 ? -1 : lines), step)),
    goToError: () => void log.nextError(current ?? -1).then(jump, showProblem),
  };
}
