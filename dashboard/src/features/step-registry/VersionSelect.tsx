// A choice among the versions of a step.
import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { stepVersionsQuery } from "@/api/registryStep";
import type { StepRef } from "@/lib/paths";

type Props = {
  place: StepRef;
  label: string;
  value: string;
  /** What the empty value means, if it can be chosen. */
  none?: string;
  wordOf?: (version: string) => string;
  onChange: (version: string) => void;
};

export function VersionSelect({ place, label, value, none, wordOf = (version) => version, onChange }: Props) {
  const id = useId();
  const listed = useQuery(stepVersionsQuery(place)).data?.data.map(({ version }) => version) ?? [];
  // A version of an address can be older than those that were read.
  const versions = value === "" || listed.includes(value) ? listed : [...listed, value];
  return (
    <span className="inline-flex items-center gap-2">
      <label htmlFor={id} className="text-13 font-strong">
        {label}
      </label>
      <select
        id={id}
        className="min-h-row min-w-0 rounded-6 border border-control bg-raised px-2 font-mono text-13"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      >
        {none && <option value="">{none}</option>}
        {versions.map((version) => (
          <option key={version} value={version}>
            {wordOf(version)}
          </option>
        ))}
      </select>
    </span>
  );
}
