// One line of a log. Its text is only ever a text node.
import { memo } from "react";
import { cx } from "@/lib/classes";
import { log as texts } from "@/texts/en/log";
import type { Span, Style } from "./ansi";

// The log has a dark ground in both themes, so its colors are those of the dark theme.
const COLORS: Record<string, string> = {
  black: "text-[#919d95]",
  red: "text-[#ff8f85]",
  green: "text-[#63d29b]",
  yellow: "text-[#f2b655]",
  blue: "text-[#7db8f5]",
  magenta: "text-[#bfa3f2]",
  cyan: "text-[#7fddb0]",
  white: "text-[#edf0ea]",
};

type Props = {
  number: number;
  spans: readonly Span[];
  isMarked: boolean;
  isMatch: boolean;
  onSelect: (line: number, extend: boolean) => void;
};

export const LogLine = memo(function LogLine({ number, spans, isMarked, isMatch, onSelect }: Props) {
  return (
    <div
      data-line={number}
      className={cx("flex h-5 leading-5 whitespace-pre", isMarked ? "bg-[#332a06]" : isMatch && "bg-[#12273d]")}
    >
      <button
        type="button"
        tabIndex={-1}
        aria-label={texts.line(number)}
        className="sticky left-0 w-16 shrink-0 bg-log pr-4 text-right text-[#919d95] select-none hover:text-[#edf0ea]"
        onClick={(event) => onSelect(number, event.shiftKey)}
      >
        {number}
      </button>
      <span>
        {spans.map((span, index) => (
          <span key={index} className={classOf(span.style)}>
            {span.text}
          </span>
        ))}
      </span>
    </div>
  );
});

function classOf(style: Style): string | undefined {
  const { color, bold, dim, italic, underline } = style;
  return (
    cx(
      color && COLORS[color],
      bold && "font-bold",
      dim && "opacity-70",
      italic && "italic",
      underline && "underline",
    ) || undefined
  );
}
