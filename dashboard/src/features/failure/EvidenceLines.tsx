// The lines of a log that show why a step failed: ten at first, more on demand.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { FIRST_LINES, stepEvidenceQuery } from "@/api/failure";
import type { FailureEvidence } from "@/api/types";
import { showProblem } from "@/features/problem";
import { cx } from "@/lib/classes";
import { panel as texts } from "@/texts/en/failure";
import { Button } from "@/ui/Button";
import { Link } from "@/ui/Link";
import { LogText } from "@/ui/LogText";
import { nextSize, type Row, rowsOf } from "./lines";

type Props = {
  org: string;
  deployment: string;
  failure: FailureEvidence;
  name: string;
  /** The address of a line in the log. */
  pathOf: (line: number) => string;
};

export function EvidenceLines({ org, deployment, failure, name, pathOf }: Props) {
  const [size, setSize] = useState(FIRST_LINES);
  const step = failure.stepRunId ?? "";
  const more = useQuery({
    ...stepEvidenceQuery(org, deployment, step, size),
    enabled: step !== "" && size > FIRST_LINES,
    placeholderData: keepPreviousData,
  });
  const shown = (size > FIRST_LINES && more.data) || failure;
  const rows = rowsOf(shown);
  const omitted = shown.log?.omittedLines ?? 0;
  const next = step === "" ? undefined : nextSize(size, omitted);
  // The decisive line alone is shown above.
  if (rows.length <= 1 && next === undefined && rows[0]?.like === undefined) return null;
  const grow = (lines: number) => {
    setSize(lines);
    if (more.error) showProblem(more.error);
  };
  return (
    <div className="mt-2">
      {/* It scrolls by itself, so it can be focused. */}
      <div
        role="region"
        aria-label={texts.lines(name)}
        tabIndex={0}
        className="max-h-96 overflow-auto rounded-4 bg-log py-1 font-mono text-12 text-[#edf0ea]"
      >
        {rows.map((row) => (
          <LineRow key={row.key} row={row} pathOf={pathOf} />
        ))}
      </div>
      <div className="mt-1 flex flex-wrap items-center gap-2 text-13 text-ink2">
        {omitted > 0 && <span>{texts.omitted(omitted)}</span>}
        {next !== undefined && (
          <Button look="quiet" busy={more.isFetching} onClick={() => grow(next)}>
            {texts.show(next)}
          </Button>
        )}
        {size > FIRST_LINES && (
          <Button look="quiet" onClick={() => setSize(FIRST_LINES)}>
            {texts.showFewer}
          </Button>
        )}
      </div>
    </div>
  );
}

function LineRow({ row, pathOf }: { row: Row; pathOf: (line: number) => string }) {
  const { number, text, isDecisive, like, isAfterGap } = row;
  return (
    <>
      {isAfterGap && (
        <div className="text-[#919d95]">
          <span aria-hidden className="inline-block w-16 pr-4 text-right">
            ⋯
          </span>
          <span className="sr-only">{texts.leftOut}</span>
        </div>
      )}
      <div
        data-decisive={isDecisive || undefined}
        className={cx("flex leading-5", isDecisive && "bg-[#332a06] font-bold")}
      >
        <span className="w-16 shrink-0 pr-4 text-right text-[#919d95] select-none">
          {number !== undefined && (
            <Link to={pathOf(number)} aria-label={texts.line(number)} className="hover:text-[#edf0ea]">
              {number}
            </Link>
          )}
        </span>
        <span className="min-w-0 flex-1 pr-4">
          <LogText text={text} />
          {like !== undefined && <span className="ml-3 text-[#919d95]">{texts.like(like)}</span>}
        </span>
      </div>
    </>
  );
}
