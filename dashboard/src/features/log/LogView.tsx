// The log of a step. Only the lines on the screen are in the document; new lines are followed only at the end.
import { useEffect, useMemo } from "react";
import type { LogRef } from "@/api/log";
import { Problem } from "@/api/problem";
import { ProblemPanel } from "@/features/problem";
import { useStableCallback } from "@/lib/useStableCallback";
import { log as texts } from "@/texts/en/log";
import { Skeleton } from "@/ui/Skeleton";
import { type Span, type Style, parseLine } from "./ansi";
import { LogLine } from "./LogLine";
import { LogTools } from "./LogTools";
import type { LogText } from "./text";
import { useFind } from "./useFind";
import { useLog } from "./useLog";
import { useLogScroll } from "./useLogScroll";

type Props = {
  at: LogRef;
  name: string;
  isLive: boolean;
  marked: { from: number; to: number } | undefined;
  onMark: (from: number, to: number) => void;
};

/** Colors are carried over this many lines before the window. */
const CARRY = 100;

export function LogView({ at, name, isLive, marked, onMark }: Props) {
  const log = useLog(at, isLive);
  const { text, version } = log;
  const { lines } = text;
  const scroll = useLogScroll(lines, marked?.from, isLive);
  const find = useFind(text, lines, scroll.showLine);
  const { first, count, top, height } = scroll.window;
  useEffect(() => text.want(Math.max(0, first - CARRY), count + CARRY), [text, first, count]);
  // `version` stands for the contents of the text, which is the same object while it grows.
  // oxlint-disable-next-line react/exhaustive-deps
  const rows = useMemo(() => rowsOf(text, first, count), [text, first, count, version]);
  const select = useStableCallback((line: number, extend: boolean) => {
    const start = extend && marked ? marked.from : line;
    scroll.stayAt(Math.min(start, line));
    onMark(start, line);
  });
  if (log.error instanceof Problem && log.error.code === "log_expired")
    return <p className="p-4 text-ink2">{texts.expired}</p>;
  return (
    <section aria-label={texts.title(name)} className="flex min-h-0 flex-col">
      <LogTools at={at} find={find} isFollowing={scroll.isFollowing} isLive={isLive} onFollow={scroll.followEnd} />
      {log.error !== undefined && <ProblemPanel error={log.error} onRetry={log.retry} />}
      <div
        ref={scroll.ref}
        role="log"
        aria-live="off"
        tabIndex={0}
        style={{ height: `clamp(120px, ${height + 16}px, 60vh)` }}
        className="relative overflow-auto rounded-4 bg-log font-mono text-12 text-[#edf0ea] [overflow-anchor:none]"
      >
        {lines === 0 &&
          (log.isLoading ? (
            <Skeleton className="m-4 h-4 w-1/2" />
          ) : (
            <p className="p-4">{isLive ? texts.waiting : texts.empty}</p>
          ))}
        <div className="relative min-w-max" style={{ height }}>
          <div className="absolute inset-x-0" style={{ top }}>
            {rows.map((spans, index) => {
              const number = first + index + 1;
              const isMarked = marked !== undefined && number >= marked.from && number <= marked.to;
              return (
                <LogLine
                  key={number}
                  number={number}
                  spans={spans}
                  isMarked={isMarked}
                  isMatch={find.current === number - 1}
                  onSelect={select}
                />
              );
            })}
          </div>
        </div>
      </div>
      {scroll.unseen > 0 && (
        <button
          type="button"
          className="mx-auto -mt-10 rounded-full bg-brand px-3 py-1.5 text-13 font-strong text-on-brand"
          onClick={scroll.followEnd}
        >
          {texts.newLines(scroll.unseen)}
        </button>
      )}
    </section>
  );
}

function rowsOf(text: LogText, first: number, count: number): Span[][] {
  let style: Style = {};
  const start = Math.max(0, first - CARRY);
  const rows: Span[][] = [];
  for (let line = start; line < first + count; line += 1) {
    const parsed = parseLine(text.line(line) ?? "", style);
    style = parsed.style;
    if (line >= first) rows.push(parsed.spans);
  }
  return rows;
}
