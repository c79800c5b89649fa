// The filters of the board. They are part of the address.
import { environment as texts } from "@/texts/en/environment";
import { Filter } from "@/ui/Field";
import { Segments } from "@/ui/Segments";
import { ViewSwitch } from "./ViewSwitch";
import type { Group, Tally } from "./view";

export type GroupFilter = "all" | Group;

const FILTERS: readonly GroupFilter[] = ["all", "free", "yours", "held"];

export function groupFilterOf(state: string | undefined): GroupFilter {
  return FILTERS.find((filter) => filter === state) ?? "all";
}

type Props = {
  q: string;
  group: GroupFilter;
  tally: Tally;
  onChange: (search: { q?: string; state?: GroupFilter }) => void;
};

export function BoardFilters({ q, group, tally, onChange }: Props) {
  return (
    <div className="mb-4 flex flex-wrap gap-2">
      <Filter label={texts.filter} value={q} onChange={(event) => onChange({ q: event.target.value || undefined })} />
      <Segments
        label={texts.state}
        value={group}
        onChange={(value) => onChange({ state: value === "all" ? undefined : value })}
        segments={FILTERS.map((value) => ({ value, label: texts.states[value], count: tally[value] }))}
      />
      <ViewSwitch count={tally.all} />
    </div>
  );
}
