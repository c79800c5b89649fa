// A choice of one among a few, such as a filter by state. Radio buttons underneath, so that arrow keys work.
import { useId } from "react";
import { cx } from "@/lib/classes";

export type Segment<Value extends string> = { value: Value; label: string; count?: number };

type Props<Value extends string> = {
  label: string;
  segments: readonly Segment<Value>[];
  value: Value;
  onChange: (value: Value) => void;
};

export function Segments<Value extends string>({ label, segments, value, onChange }: Props<Value>) {
  const name = useId();
  return (
    <div
      role="radiogroup"
      aria-label={label}
      className="inline-flex overflow-hidden rounded-6 border border-control max-md:w-full"
    >
      {segments.map((segment) => (
        <label
          key={segment.value}
          className={cx(
            "state-motion flex min-h-row cursor-pointer items-center justify-center border-r border-line px-[11px] text-13 last:border-r-0 max-md:flex-1 max-md:px-0.5",
            "has-focus-visible:outline-2 has-focus-visible:-outline-offset-2 has-focus-visible:outline-focus",
            segment.value === value ? "bg-ink font-bold text-canvas" : "text-ink2 hover:bg-sunken",
          )}
        >
          <input
            type="radio"
            name={name}
            className="sr-only"
            checked={segment.value === value}
            onChange={() => onChange(segment.value)}
          />
          {segment.label}
          {segment.count !== undefined && <span className="ml-1 tabular-nums">{segment.count}</span>}
        </label>
      ))}
    </div>
  );
}
