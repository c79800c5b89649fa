// The filters of the list. They are part of the address, and the server applies them.
import type { ReactNode } from "react";
import { useQuery } from "@tanstack/react-query";
import { type FailureFilter, PERIODS, type Period } from "@/api/failure";
import { pipelinesQuery } from "@/api/pipeline";
import { failures as texts } from "@/texts/en/failure";
import { verdictState, VERDICTS } from "@/ui/verdict";

type Search = { pipeline?: string; verdict?: string; since?: string };
type Props = { org: string; filter: FailureFilter; onChange: (search: Search) => void };

export function FailureFilters({ org, filter, onChange }: Props) {
  const pipelines = useQuery(pipelinesQuery(org)).data?.data ?? [];
  return (
    <div className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2">
      <Choice
        label={texts.pipeline}
        all={texts.allPipelines}
        value={filter.pipeline}
        onChange={(pipeline) => onChange({ pipeline })}
      >
        {pipelines.map(({ id, slug, name }) => (
          <option key={id} value={slug}>
            {name}
          </option>
        ))}
      </Choice>
      <Choice
        label={texts.verdictFilter}
        all={texts.allVerdicts}
        value={filter.verdict}
        onChange={(verdict) => onChange({ verdict })}
      >
        {VERDICTS.map((verdict) => (
          <option key={verdict} value={verdict}>
            {verdictState(verdict).word}
          </option>
        ))}
      </Choice>
      <Choice label={texts.since} all={texts.ever} value={filter.since} onChange={(since) => onChange({ since })}>
        {(Object.keys(PERIODS) as Period[]).map((period) => (
          <option key={period} value={period}>
            {texts.periods[period]}
          </option>
        ))}
      </Choice>
    </div>
  );
}

type ChoiceProps = {
  label: string;
  all: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
  children: ReactNode;
};

function Choice({ label, all, value, onChange, children }: ChoiceProps) {
  return (
    <label className="inline-flex items-center gap-2 text-13">
      {label}
      <select
        className="min-h-row max-w-60 min-w-0 rounded-6 border border-control bg-raised px-2"
        value={value ?? ""}
        onChange={(event) => onChange(event.target.value || undefined)}
      >
        <option value="">{all}</option>
        {children}
      </select>
    </label>
  );
}
