// The filters of the board of all pipelines. They are part of the address, and the server applies them.
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { environment as texts } from "@/texts/en/environment";
import { Filter } from "@/ui/Field";
import { Segments } from "@/ui/Segments";
import { ALL_GROUPS, type AllGroup, type Counts, labelsOf } from "./all";
import { ViewSwitch } from "./ViewSwitch";
import type { Shown } from "./view";

/** A request is sent when the person has stopped typing for this long. */
const TYPING_DELAY = 250;

type Search = { q?: string; state?: string; label?: string };

type Props = {
  q: string;
  group: AllGroup;
  label: string | undefined;
  environments: readonly Shown[];
  counts: Counts | undefined;
  onChange: (search: Search) => void;
};

export function AllFilters({ q, group, label, environments, counts, onChange }: Props) {
  const labels = labelsOf(environments, label);
  return (
    <div className="mb-4 flex flex-wrap gap-2">
      <SlowFilter q={q} onChange={(text) => onChange({ q: text || undefined })} />
      <Segments
        label={texts.state}
        value={group}
        onChange={(value) => onChange({ state: value === "all" ? undefined : value })}
        segments={ALL_GROUPS.map((value) => ({ value, label: texts.states[value], count: counts?.[value] }))}
      />
      {labels.length > 0 && (
        <select
          aria-label={texts.labelFilter}
          className="min-h-row rounded-6 border border-control bg-raised px-2 text-13"
          value={label ?? ""}
          onChange={(event) => onChange({ label: event.target.value || undefined })}
        >
          <option value="">{texts.anyLabel}</option>
          {labels.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
      <ViewSwitch count={environments.length} />
    </div>
  );
}

function SlowFilter({ q, onChange }: { q: string; onChange: (text: string) => void }) {
  const [text, setText] = useState(q);
  const sent = useRef(q);
  const change = useEffectEvent(() => {
    if (text === q) return;
    sent.current = text;
    onChange(text);
  });
  // The address was changed elsewhere, such as by the button that shows all.
  useEffect(() => {
    if (q === sent.current) return;
    sent.current = q;
    setText(q);
  }, [q]);
  useEffect(() => {
    const timer = setTimeout(() => change(), TYPING_DELAY);
    return () => clearTimeout(timer);
  }, [text]);
  return <Filter label={texts.filter} value={text} onChange={(event) => setText(event.target.value)} />;
}
